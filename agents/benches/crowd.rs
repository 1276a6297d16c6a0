//! Simulated agents at a real broker, for records: `cargo test --bench crowd -- BROKER AGENTS
//! INTERVALS EVERY_MS EXCHANGES DOUBLE_EVERY` connects them, says `ready`, has them take part in
//! one run, and prints as JSON what they counted and said. `-- --sum FOLDER` adds up what real
//! agents have kept there (`--keep`). See `comparisons/fleet.py`.

use std::path::Path;
use std::process::ExitCode;

use agents::nats::Broker;
use fleet::counted::{self, Interval};
use measure::tally::Counted;
use serde_json::json;
use tokio::runtime::Builder;

#[path = "../tests/agents/crowd.rs"]
mod crowd;

use crowd::{Course, take_part};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match &words[..] {
        ["--sum", folder] => sum(Path::new(folder)),
        [broker, agents, intervals, every_ms, exchanges, double_every] => {
            let numbers = [agents, intervals, every_ms, exchanges, double_every];
            let numbers = numbers.map(|number| number.parse::<u64>());
            match numbers {
                [
                    Ok(agents),
                    Ok(intervals),
                    Ok(every_ms),
                    Ok(exchanges),
                    Ok(double_every),
                ] => {
                    let course = Course {
                        intervals,
                        every_ns: every_ms * 1_000_000,
                        exchanges,
                        double_every: Some(double_every).filter(|every| *every > 0),
                    };
                    load(broker, agents, course)
                }
                _ => Err("that are no numbers".to_owned()),
            }
        }
        // As a test of everything it has nothing to do.
        _ => Ok(()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn load(broker: &str, agents: u64, course: Course) -> Result<(), String> {
    let broker = Broker::new(broker, None)?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|why| why.to_string())?;
    let ready = || println!("ready");
    let ((), took_part) = runtime.block_on(take_part(&broker, agents, course, ready));
    let counted = &took_part.counted;
    let told = json!({
        "confirmed": took_part.confirmed,
        "said": took_part.said,
        "doubled": took_part.doubled,
        "completed": counted.completed,
        "response_time": counted.response.to_hdr_v2_base64(),
    });
    println!("{told}");
    Ok(())
}

fn sum(folder: &Path) -> Result<(), String> {
    let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", folder.display());
    let (mut counted, mut files) = (Counted::new(), 0);
    for agent in std::fs::read_dir(folder).map_err(|why| failed(&why))? {
        let agent = agent.map_err(|why| failed(&why))?;
        for file in std::fs::read_dir(agent.path()).map_err(|why| failed(&why))? {
            let file = file.map_err(|why| failed(&why))?;
            let bytes = std::fs::read(file.path()).map_err(|why| failed(&why))?;
            let interval: Interval = postcard::from_bytes(&bytes).map_err(|why| failed(&why))?;
            counted.merge(&counted::run(&interval)?.counted);
            files += 1;
        }
    }
    let told = json!({
        "files": files,
        "completed": counted.completed,
        "failed": counted.failed,
        "response_time": counted.response.to_hdr_v2_base64(),
        "service_time": counted.service.to_hdr_v2_base64(),
    });
    println!("{told}");
    Ok(())
}
