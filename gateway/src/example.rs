//! What there is to see without any configuration: a small upstream in this process, and a gateway
//! in front of it.

use std::fmt::Write;

use server::{Address, Context, Reply, Request, Response, Running, Service, StartError, Stop};

/// The configuration in front of the upstream at `upstream`, as a text: it's shown, so that it can
/// be the beginning of another one.
pub fn config(listen: &str, upstream: &Address) -> String {
    format!(
        "[listen]\n\
         address = \"{listen}\"\n\
         \n\
         [upstream.app]\n\
         servers = [\"{upstream}\"]\n\
         \n\
         [token.example]\n\
         fields = {{ x-user = \"sub\", x-role = \"role\" }}\n\
         keys = [{{ id = \"example\", pem = \"\"\"\n\
         -----BEGIN PUBLIC KEY-----\n\
         MCowBQYDK2VwAyEAs4wiYUI33cM57m4a1ycInu4pqGpjSQe8Res6t1Okxrc=\n\
         -----END PUBLIC KEY-----\n\
         \"\"\" }}]\n\
         \n\
         [token.example.users.alice]\n\
         fields = {{ x-plan = \"gold\" }}\n\
         \n\
         [[route]]\n\
         path = \"/hello\"\n\
         answer = {{ status = 200, text = \"hello from the gateway\\n\" }}\n\
         \n\
         [[route]]\n\
         prefix = \"/private\"\n\
         token = \"example\"\n\
         rates = [{{ key = \"subject\", per_second = 100 }}]\n\
         upstream = \"app\"\n\
         \n\
         [[route]]\n\
         prefix = \"/\"\n\
         upstream = \"app\"\n"
    )
}

/// A token that the example takes: of alice, an admin, until the year 2100. It opens nothing but
/// the example, and who could sign others has forgotten how.
pub const TOKEN: &str = "eyJhbGciOiJFZERTQSIsInR5cCI6IkpXVCIsImtpZCI6ImV4YW1wbGUifQ.\
    eyJzdWIiOiJhbGljZSIsInJvbGUiOiJhZG1pbiIsImV4cCI6NDEwMjQ0NDgwMH0.\
    cmYe7pe5DmP17TfJiJhnkijYQnA_V_zKDnWgP1XZOLthIiFgxhouov9YmtKF0T7iRFWjAaHAAHREG99tUg3QCw";

/// Starts the upstream, at a port of its own on the loopback.
///
/// # Errors
/// As for [`server::start`].
pub fn upstream(stop: &Stop) -> Result<Running, StartError> {
    let config = server::Config::new(Address::Tcp(([127, 0, 0, 1], 0).into()));
    server::start(config, |_worker| Mirror, stop)
}

/// Answers with what it was asked, as `curl` would show it.
struct Mirror;

impl Service for Mirror {
    fn call(&mut self, request: &Request<'_>, _: &mut Context<'_>) -> Reply {
        let mut text = String::new();
        let method = request.method().escape_ascii();
        let _ = writeln!(text, "{method} {}", request.target().escape_ascii());
        for (name, value) in request.fields() {
            let _ = writeln!(text, "{}: {}", name.escape_ascii(), value.escape_ascii());
        }
        let body = request.body();
        if !body.is_empty() {
            let _ = writeln!(text, "\n{} bytes of body", body.len());
        }
        Response::of("text/plain", text).into()
    }
}
