//! Chromium without a window, told what to do over a pipe (the DevTools protocol). Included by path
//! from whatever looks at pages as a user would. Its includer has `skip`.
#![allow(dead_code)] // Each includer needs some of it.

use std::collections::VecDeque;
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use measure::time::{Time, sleep_until};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than anything here takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Its names on Debian, Ubuntu and elsewhere.
const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];
/// Neither asks anybody for anything, nor is there a sandbox where tests run as root.
const FLAGS: &str = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
                     --disable-background-networking --disable-component-update \
                     --remote-debugging-pipe";

/// How a page is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) is_phone: bool,
    pub(crate) is_dark: bool,
}

/// Phone and desktop, light and dark.
pub(crate) fn looks() -> [Look; 4] {
    let look = |(width, height), is_phone, is_dark| Look {
        width,
        height,
        is_phone,
        is_dark,
    };
    let (desktop, phone) = ((1280, 900), (390, 844));
    [
        look(desktop, false, false),
        look(desktop, false, true),
        look(phone, true, false),
        look(phone, true, true),
    ]
}

/// A browser with one tab; both end when this is dropped.
pub(crate) struct Browser {
    child: Child,
    orders: ChildStdin,
    answers: Receiver<Value>,
    /// Of what it complained.
    complaints: VecDeque<String>,
    session: Option<String>,
    number: u64,
    /// What it writes to disk.
    _folder: TempDir,
}

impl Browser {
    /// Starts one; none, and a loud skip, where there isn't any.
    pub(crate) fn start() -> Option<Browser> {
        let path = env::var_os("PATH").unwrap_or_default();
        let is_there = |name: &&str| env::split_paths(&path).any(|dir| dir.join(name).is_file());
        let Some(name) = NAMES.into_iter().find(is_there) else {
            crate::skip::skip("there is no Chromium: apt install chromium");
            return None;
        };
        let folder = TempDir::new().unwrap();
        let own = folder.path().display();
        // It listens at descriptor 3 and answers at descriptor 4.
        let script = format!(
            "exec {name} {FLAGS} --user-data-dir={own} about:blank \
             3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null"
        );
        let mut child = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = child.stdin.take().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let (sender, answers) = channel();
        thread::spawn(move || {
            let mut message = Vec::new();
            while said.read_until(0, &mut message).is_ok_and(|n| n > 0) {
                message.pop();
                let value = serde_json::from_slice(&message).unwrap();
                message.clear();
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        let mut browser = Browser {
            child,
            orders,
            answers,
            complaints: VecDeque::new(),
            session: None,
            number: 0,
            _folder: folder,
        };
        let target = browser.order("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.order("Target.attachToTarget", attach);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for part in ["Page", "Runtime", "Log"] {
            browser.order(&format!("{part}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Has it do something, and waits until that is done.
    fn order(&mut self, method: &str, params: Value) -> Value {
        let done = self.attempt(method, params);
        done.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// The same of what it may refuse.
    fn attempt(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.number += 1;
        let mut message = json!({"id": self.number, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.orders.write_all(&bytes).unwrap();
        loop {
            let answer = self.answers.recv_timeout(PATIENCE);
            let mut answer = answer.unwrap_or_else(|_| panic!("no answer to {message}"));
            if answer["id"] == self.number {
                return match answer["error"].take() {
                    Value::Null => Ok(answer["result"].take()),
                    error => Err(error),
                };
            }
            let is_complaint = ["Log.entryAdded", "Runtime.exceptionThrown"]
                .iter()
                .any(|method| answer["method"] == *method);
            if is_complaint {
                self.complaints.push_back(answer["params"].to_string());
            }
        }
    }

    /// Goes to a page, or loads it anew.
    pub(crate) fn visit(&mut self, url: &str) {
        let went = self.order("Page.navigate", json!({"url": url}));
        assert!(went["errorText"].is_null(), "{url}: {went}");
        self.until("the page is loaded", "document.readyState == 'complete'");
    }

    /// The same page once more, as its reader would.
    pub(crate) fn refresh(&mut self) {
        self.run("window.isOld = true");
        self.order("Page.reload", json!({"ignoreCache": true}));
        self.until(
            "the page is loaded anew",
            "!window.isOld && document.readyState == 'complete'",
        );
    }

    /// The value of an expression on the page.
    pub(crate) fn run(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut ran = self.order("Runtime.evaluate", asked);
        assert!(ran["exceptionDetails"].is_null(), "{expression}: {ran}");
        ran["result"]["value"].take()
    }

    /// Whether an expression is true; not while it can't be told.
    fn is(&mut self, expression: &str) -> bool {
        let asked = json!({"expression": expression, "returnByValue": true});
        let ran = self.attempt("Runtime.evaluate", asked);
        ran.is_ok_and(|ran| ran["result"]["value"] == true)
    }

    /// Waits until an expression on the page is true. While a page is being replaced by another
    /// there's none to ask.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, expression: &str) {
        let end = Time::now() + PATIENCE;
        while !self.is(expression) {
            assert!(Time::now() < end, "not within {PATIENCE:?}: {what}");
            sleep_until(Time::now() + Duration::from_millis(20));
        }
    }

    /// Looks at the page in another size and in other colours.
    pub(crate) fn look(&mut self, look: Look) {
        let size = json!({
            "width": look.width,
            "height": look.height,
            "deviceScaleFactor": if look.is_phone { 2 } else { 1 },
            "mobile": look.is_phone,
        });
        self.order("Emulation.setDeviceMetricsOverride", size);
        let scheme = if look.is_dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.order("Emulation.setEmulatedMedia", json!({"features": features}));
        self.until(
            "it has that size and these colours",
            &format!(
                "matchMedia('(width: {}px) and (prefers-color-scheme: {scheme})').matches",
                look.width
            ),
        );
    }

    /// What the page's console would show: scripts that fail, and what its policy forbids.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        self.complaints.drain(..).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It closes by itself when nobody is at the other end of the pipe.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
