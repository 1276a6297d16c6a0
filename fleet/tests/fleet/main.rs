//! A fleet without machines: what coordinators and agents do, in simulated time and on a bus that
//! does anything to what they say.

mod bus;
mod clock;
mod division;
mod promises;
mod seeds;
mod simulated;
mod stood_still;
mod strangers;
mod wire;
mod world;
