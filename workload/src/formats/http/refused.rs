//! What these files can have and a mix of independent requests can't: each is refused by its name,
//! or ignored with a note where the requests are the same without it.

use measure::foreign::Foreign;

/// What is wrong with a line where a request should begin.
pub(super) fn instead_of_request(text: &str) -> Option<String> {
    if let Some(what) = script(text.as_bytes()) {
        return Some(what);
    }
    let text = text.trim();
    if text.starts_with('<') {
        return Some(
            "`< FILE` above a request is a script that runs before it, and none is run here: \
             remove it (a body stands below the headers and an empty line)"
                .to_owned(),
        );
    }
    let word = text.split_whitespace().next()?;
    match word {
        "import" | "run" => Some(format!(
            "`{word}` takes requests from other files, which isn't done here: copy them into this \
             one"
        )),
        "curl" => Some(
            "curl's command lines aren't read: write METHOD http://HOST[:PORT]/PATH, headers below \
             it"
            .to_owned(),
        ),
        _ => None,
    }
}

/// What is wrong with a line that is a script of JetBrains' editor, or does something with answers.
pub(super) fn script(line: &[u8]) -> Option<String> {
    let line = line.trim_ascii();
    let (sign, rest) = line.split_at(line.iter().take_while(|byte| b"<>!".contains(byte)).count());
    let is_apart = rest.first().is_some_and(|byte| byte.is_ascii_whitespace());
    let rest = rest.trim_ascii_start();
    let is_script = rest.starts_with(b"{%");
    let is_file_of_it = is_apart && rest.to_ascii_lowercase().ends_with(b".js");
    let what = match sign {
        b">" if is_script || is_file_of_it => {
            "a script that handles the answer (`>`) isn't run: remove it"
        }
        // `< x.js` below the headers is a body; above a request it never gets here.
        b"<" if is_script => {
            "a script that runs before the request (`<`) isn't run: remove it; for values that \
             change use {{templates}} or a data file (--data)"
        }
        b">>" | b">>!" if is_apart => "answers aren't written to files (`>>`): remove this line",
        b"<>" if is_apart => "`<>` refers to an answer of before, which isn't read: remove it",
        _ => return None,
    };
    Some(what.to_owned())
}

/// What is wrong with a method that isn't one of HTTP's.
pub(super) fn method(method: &str) -> Option<String> {
    let known = ["GRAPHQL", "RSOCKET"];
    let known = known
        .iter()
        .find(|known| known.eq_ignore_ascii_case(method))?;
    Some(match *known {
        "GRAPHQL" => "GRAPHQL isn't a method of HTTP: write POST, and the query as a JSON body, \
             {\"query\": …}"
            .to_owned(),
        _ => "RSOCKET isn't spoken".to_owned(),
    })
}

/// What is wrong with a header that changes what the others mean.
pub(super) fn header(name: &str, value: &str) -> Option<&'static str> {
    let is_graphql =
        name.eq_ignore_ascii_case("x-request-type") && value.eq_ignore_ascii_case("graphql");
    is_graphql.then_some(
        "`X-Request-Type: GraphQL` makes a body of a query, which isn't done here: write the query \
         as a JSON body, {\"query\": …}",
    )
}

/// What is wrong with a directive that isn't ringside's, or a note that it is ignored.
pub(super) fn directive(name: &str, note: impl FnOnce(&str, &str)) -> Result<(), String> {
    let what = match name {
        "prompt" => {
            return Err(
                "@prompt asks a person, and nobody is asked during a load: write `@name = value` \
                 above the request instead, or take it from a data file (--data)"
                    .to_owned(),
            );
        }
        // It is so, unless redirects of all requests are followed.
        "no-redirect" => return Ok(()),
        "no-cookie-jar" => "`@no-cookie-jar` is ignored: --cookies is for all requests, or none",
        "no-log" => "`@no-log` is ignored: no request is in a log",
        "note" => "`@note` is ignored: nobody is asked before a request is sent",
        other => {
            let what = format!(
                "`@{}` is ignored: directives are @name, @weight and @expect",
                Foreign::new(other)
            );
            note(other, &what);
            return Ok(());
        }
    };
    note(name, what);
    Ok(())
}

/// Whether a template refers to another request or its answer: `{{login.response.body.$.token}}`.
pub(super) fn is_reference(template: &str) -> bool {
    let mut words = template.split('.');
    let is_name = |word: &str| {
        let is_of_it = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        !word.is_empty() && word.chars().all(is_of_it)
    };
    words.next().is_some_and(is_name)
        && matches!(words.next(), Some("response" | "request"))
        && matches!(words.next(), Some("body" | "headers"))
}
