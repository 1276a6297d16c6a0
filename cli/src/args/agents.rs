//! Which machines send a load together: shared by the verbs that can be carried out so.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::values::{self, Agents, Weight};

const FLEET: &str = "Fleet";

/// Arguments about agents on other machines.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Fleet {
    /// Have N agents (ringside fleet agent) send the load together, reached through --nats; or
    /// with local:N start N of them here. -t is then the threads of each on average
    #[arg(long, value_name = "N|local:N", value_parser = values::agents, help_heading = FLEET)]
    pub(crate) agents: Option<Agents>,

    /// The NATS server that agents are connected to, such as nats://10.0.0.1:4222 [default:
    /// NATS_URL]
    #[arg(long, value_name = "URL", requires = "agents", help_heading = FLEET)]
    pub(crate) nats: Option<String>,

    /// Shares of the load by weight, such as big=3,small=1, for agents on unlike machines; an agent
    /// without a weight has its --threads as one. With `measured`, each loads a server of its own
    /// for a second first, and has a share by what it reached
    #[arg(long, value_name = "measured|NAME=N,…", value_delimiter = ',')]
    #[arg(value_parser = values::weight, requires = "agents", help_heading = FLEET)]
    pub(crate) weights: Vec<Weight>,

    /// What the others do when an agent is lost: continue with their shares, stop, or rebalance,
    /// which is to take its share over [default: continue]
    #[arg(long, value_enum, value_name = "WHAT", requires = "agents", help_heading = FLEET)]
    pub(crate) on_loss: Option<OnLoss>,

    /// Sign the load for this run alone, with the nkey whose seed is in FILE (ringside fleet keys),
    /// for agents whose policy asks for that
    #[arg(long, value_name = "FILE", requires = "agents", help_heading = FLEET)]
    pub(crate) sign: Option<PathBuf>,

    /// The agents that it's signed for, by the name in their policy
    #[arg(long, value_name = "NAME", requires = "sign", help_heading = FLEET)]
    pub(crate) audience: Option<String>,
}

/// The argument about a coordinator that was killed, of verbs that have a fleet send one load.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Resume {
    /// Go on with a run whose coordinator was killed, by the name that it was given; all else as it
    /// was given then. Agents wait for 10 s before they end their load
    #[arg(long, value_name = "RUN", requires = "agents", help_heading = FLEET)]
    pub(crate) resume: Option<String>,
}

/// What the others do when an agent is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnLoss {
    Continue,
    Stop,
    Rebalance,
}
