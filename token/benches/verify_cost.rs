//! What it costs to check a token, for each algorithm: `cargo bench -p token`.

#[path = "../tests/support/mint.rs"]
#[allow(dead_code)] // Tests make bad tokens, too.
mod mint;

use std::hint::black_box;

use measure::time::thread_cpu_ns;
use token::{Algorithm, Rules, verify};

const CLAIMS: &str = r#"{"iss":"ringside","aud":"demonstration","sub":"0000042","exp":4102444800}"#;
const ROUNDS: usize = 15;
const TOKENS: u32 = 2_000;

fn main() {
    let rules = Rules {
        issuer: Some("ringside".into()),
        audiences: vec!["demonstration".into()],
        ..Rules::default()
    };
    let keys = mint::keys();
    println!(
        "algorithm  bytes  µs of processor time a token: median (least–most) of {ROUNDS} rounds"
    );
    for algorithm in Algorithm::ALL {
        let token = mint::good(algorithm, CLAIMS);
        let mut rounds: Vec<f64> = (0..ROUNDS)
            .map(|_| {
                let before = thread_cpu_ns();
                for _ in 0..TOKENS {
                    let verified = verify(black_box(&token), &keys, &rules, 1_800_000_000);
                    black_box(verified.expect("it's good"));
                }
                (thread_cpu_ns() - before) as f64 / f64::from(TOKENS) / 1000.0
            })
            .collect();
        rounds.sort_by(f64::total_cmp);
        println!(
            "{:<9}  {:>5}  {:>6.2} ({:.2}–{:.2})",
            algorithm.name(),
            token.len(),
            rounds[ROUNDS / 2],
            rounds[0],
            rounds[ROUNDS - 1]
        );
    }
}
