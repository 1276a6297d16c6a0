//! Which sessions belong together: those that measured the same on the same host.

use measure::host::Host;
use studies::diff::{Difference, Measured};

use crate::model::{Figure, Group, LeftOut, Point};
use crate::session::{Session, Taken};
use crate::{Options, judge};

/// The sessions in groups, the largest first. A session that can't be compared with another is in
/// `left_out`, with the reason.
pub(crate) fn groups(
    sessions: Vec<Session>,
    options: &Options,
    left_out: &mut Vec<LeftOut>,
) -> Vec<Group> {
    let mut together: Vec<Vec<Session>> = Vec::new();
    for session in sessions {
        let same = together
            .iter_mut()
            .find(|group| why_apart(&group[0], &session).is_none());
        match same {
            None => together.push(vec![session]),
            Some(group) => match group.iter().find(|other| is_again(other, &session)) {
                Some(other) => left_out.push(LeftOut {
                    what: session.facts.place,
                    why: format!("it's the same session as {}", other.facts.place),
                }),
                None => group.push(session),
            },
        }
    }
    together.sort_by_key(|group| std::cmp::Reverse(group.len()));
    for alone in together.iter().filter(|group| group.len() < 2) {
        left_out.push(LeftOut {
            what: alone[0].facts.place.clone(),
            why: why_alone(&alone[0], &together),
        });
    }
    together.retain(|group| group.len() > 1);
    together
        .into_iter()
        .map(|group| of(group, options))
        .collect()
}

/// Why two sessions can't be compared, if they can't.
fn why_apart(one: &Session, other: &Session) -> Option<String> {
    if one.name != other.name {
        return Some(format!("it measured {}, not {}", other.name, one.name));
    }
    if one.baseline != other.baseline {
        let baseline = |session: &Session| session.baseline.clone().unwrap_or("none".to_owned());
        return Some(format!(
            "its baseline is {}, not {}",
            baseline(other),
            baseline(one)
        ));
    }
    one.measured.comparable(&other.measured).err()
}

/// Whether a session is there twice, as a folder and as its pack.
fn is_again(one: &Session, other: &Session) -> bool {
    one.facts.unix_s == other.facts.unix_s && one.figures == other.figures
}

/// Why nothing can be compared with a session: what keeps it from the largest group of its name.
fn why_alone(session: &Session, together: &[Vec<Session>]) -> String {
    let others = together
        .iter()
        .filter(|group| group[0].facts.place != session.facts.place);
    let named = others.filter(|group| group[0].name == session.name);
    let nearest = named.max_by_key(|group| group.len());
    match nearest.and_then(|group| why_apart(&group[0], session)) {
        Some(why) => format!("it can't be compared with the other sessions of its name: {why}"),
        None => format!("it's the only session of {}", session.name),
    }
}

fn of(mut sessions: Vec<Session>, options: &Options) -> Group {
    let mut cautions = Vec::new();
    cautions.extend(follow_baseline(&mut sessions));
    let newest = &sessions[sessions.len() - 1];
    let smallest = options.smallest.unwrap_or(newest.measured.smallest);
    let mut figures = series(&sessions);
    judge::judge(&mut figures, &sessions, smallest);
    if newest.baseline.is_none() {
        cautions.push(
            "single runs have no row to hold a figure against, so what changed may be the host: \
             it alone can move figures by 10 or 20 % between sessions"
                .to_owned(),
        );
    }
    let cold = sessions
        .iter()
        .filter(|one| one.measured.has_cold_rows())
        .count();
    if cold > 0 {
        cautions.push(format!(
            "{cold} of {} sessions measured rows cold (--quick), whose points are left out",
            sessions.len()
        ));
    }
    cautions.extend(bounded(&figures));
    let load = newest.measured.workload().iter();
    Group {
        name: newest.name.clone(),
        host: host(newest.measured.host()),
        load: load
            .map(|(what, value)| ((*what).to_owned(), value.clone()))
            .collect(),
        baseline: newest.baseline.clone(),
        smallest,
        figures,
        cautions,
        sessions: sessions.into_iter().map(|session| session.facts).collect(),
    }
}

/// Notes where the baseline became another program; returns what a reader must know of it.
fn follow_baseline(sessions: &mut [Session]) -> Option<String> {
    let name = sessions[0].baseline.clone()?;
    let row = |measured: &Measured| measured.rows.iter().find(|row| row.name == name).cloned();
    let mut unknown = None;
    for at in 1..sessions.len() {
        let before = row(&sessions[at - 1].measured)?;
        match before.difference(&row(&sessions[at].measured)?) {
            Some(Difference::Seen(why)) => {
                sessions[at].facts.other_baseline = Some(why.to_owned());
            }
            Some(Difference::Unknown(why)) => unknown = Some(why),
            None => {}
        }
    }
    unknown.map(|why| {
        format!(
            "whether the baseline {name} stayed the same program isn't known ({why}), so what \
             changed may be the baseline"
        )
    })
}

fn host(host: &Host) -> String {
    let cpus = host.cpus_online.map(|count| format!("{count} CPUs"));
    let facts = [host.cpu_model.clone(), cpus, host.architecture.clone()];
    let known: Vec<String> = facts.into_iter().flatten().collect();
    match known.is_empty() {
        true => "an unknown host".to_owned(),
        false => known.join(", "),
    }
}

/// The figures of the newest session's rows over all sessions, then those of rows that it has no
/// more.
fn series(sessions: &[Session]) -> Vec<Figure> {
    let mut figures: Vec<Figure> = Vec::new();
    for session in sessions.iter().rev() {
        for taken in &session.figures {
            if !figures.iter().any(|figure| is_of(figure, taken)) {
                figures.push(empty(taken));
            }
        }
    }
    for figure in &mut figures {
        let points = sessions.iter().enumerate().filter_map(|(at, session)| {
            let taken = session.figures.iter().find(|taken| is_of(figure, taken))?;
            Some(point(at, taken))
        });
        figure.points = points.collect();
    }
    figures
}

fn is_of(figure: &Figure, taken: &Taken) -> bool {
    (&figure.row, figure.metric) == (&taken.row, taken.metric)
}

fn empty(taken: &Taken) -> Figure {
    Figure {
        row: taken.row.clone(),
        metric: taken.metric,
        relative: taken.relative,
        points: Vec::new(),
        judged: 0,
        p_value: None,
        level: None,
        changes: Vec::new(),
    }
}

fn point(session: usize, taken: &Taken) -> Point {
    Point {
        session,
        value: taken.value,
        interval: taken.interval,
        absolute: taken.absolute,
        bound: taken.bound,
    }
}

/// The figures that the generator bounded somewhere, in a sentence.
fn bounded(figures: &[Figure]) -> Option<String> {
    let bounded = figures
        .iter()
        .filter(|one| one.points.iter().any(|point| point.bound));
    let names: Vec<String> = bounded
        .filter(|figure| figure.relative)
        .map(|figure| format!("{} of {}", figure.metric.name(), figure.row))
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "the generator was the limit in some sessions, so what changed may be the generator: \
             {}",
            names.join(", ")
        )
    })
}
