package main

import (
	"sync/atomic"
	"time"
)

// So many refusals are an overload, and fewer may be a burst.
const overloadRefusals = 500

// Loss takes dependencies away once an overload is over: under load, and after it was seen what the
// limits do with all dependencies there.
type Loss struct {
	after    time.Duration
	refusals atomic.Int64
	over     atomic.Bool
	timer    *time.Timer
}

func newLoss(after time.Duration, lose func()) *Loss {
	loss := &Loss{after: after}
	loss.timer = time.AfterFunc(time.Hour, func() {
		if loss.over.CompareAndSwap(false, true) {
			lose()
		}
	})
	return loss
}

// refused says that a request was refused, to a loss that there may not be.
func (loss *Loss) refused() {
	if loss != nil && !loss.over.Load() && loss.refusals.Add(1) >= overloadRefusals {
		loss.timer.Reset(loss.after)
	}
}
