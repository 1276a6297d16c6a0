//! Whole comparisons many times over.

use lab::{CannotBegin, Event, Options};
use load::Stop;
use studies::trials::{Trials, Wanted, trials};

use crate::support::{Arena, arena_of, beside_others, left_behind, quick};

fn twice(options: &Options, against_itself: bool) -> Result<studies::trials::Outcome, CannotBegin> {
    let wanted = Wanted {
        trials: 2,
        against_itself,
        truth: None,
    };
    let mut begun = 0;
    let outcome = trials(options, &wanted, &Stop::new(), &mut |event: &Event<'_>| {
        begun += i32::from(matches!(event, Event::Begun { .. }));
        println!("{event}");
    });
    let expected = i32::from(outcome.is_ok());
    assert_eq!(begun, expected, "what is the same in each is told once");
    assert_eq!(left_behind(arena_of(&options.cache)), Vec::<u32>::new());
    outcome
}

#[test]
fn a_baseline_is_compared_with_itself_by_new_processes_each_time() {
    let _beside = beside_others();
    let arena = Arena::new("twin");
    arena.tiny("one", "").tiny("two", "");
    let options = arena.comparison(&quick(&["one", "two"], 3));
    let outcome = twice(&options, true).expect("it runs");
    let found = &outcome.trials;
    assert_eq!((found.trials.len(), found.summary.verdicts), (2, 2));
    assert_eq!(found.truth, Some(1.0));
    for trial in &found.trials {
        assert_eq!(trial.findings[0].subject, "one-twin");
        let ratio = trial.findings[0].ratio.expect("three rounds");
        assert!(ratio.low < ratio.high, "{ratio:?}");
        let folder = outcome.folder.join(format!("trial-{:03}", trial.number));
        assert!(folder.join("rounds/one-twin/003.json").is_file());
        assert!(!folder.join("rounds/two").exists());
    }
    let text = std::fs::read_to_string(outcome.folder.join("trials.json")).expect("written");
    let read: Trials = serde_json::from_str(&text).expect("reads");
    assert_eq!(read, *found);
    let again = twice(&options, true);
    assert!(again.is_err_and(|error| error.to_string().contains("already holds results")));
}

#[test]
fn the_rows_of_the_file_are_compared_and_every_trial_has_an_order_of_its_own() {
    let _beside = beside_others();
    let arena = Arena::new("trials");
    arena.tiny("one", "").tiny("two", "").tiny("three", "");
    let outcome = twice(
        &arena.comparison(&quick(&["one", "two", "three"], 3)),
        false,
    );
    let outcome = outcome.expect("it runs");
    assert_eq!(outcome.trials.summary.verdicts, 4);
    assert_eq!(outcome.trials.summary.held_the_truth, None);
    let seed = |number: u32| {
        let file = format!("trial-{number:03}/comparison.json");
        let text = std::fs::read_to_string(outcome.folder.join(file)).expect("written");
        let manifest = lab::manifest::Manifest::from_json(&text).expect("a manifest");
        manifest.setup.seed
    };
    assert_ne!(seed(1), seed(2));
}

#[test]
fn no_trials_are_refused() {
    let arena = Arena::new("none");
    arena.tiny("one", "");
    let wanted = Wanted {
        trials: 0,
        against_itself: true,
        truth: None,
    };
    let options = arena.comparison(&quick(&["one"], 3));
    let refused = trials(&options, &wanted, &Stop::new(), &mut |_: &Event<'_>| ());
    assert!(refused.is_err_and(|error| error.to_string().contains("use 1 to")));
}
