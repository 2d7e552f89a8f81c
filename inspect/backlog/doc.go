// Package backlog keeps of a live stream what somebody who attaches late needs to know the node:
// what explains each pod's run (inspect/store), the latest of everything that is a state, all that has begun and
// not ended, and the last of what is a history (iterations, calls, verdicts, log lines).
//
// It owns the latest of each state and the histories, and has a store of its own for the rest. It makes none up: a backlog is a part of the
// stream, in its order. Folding it gives inspect/model the picture that folding all would, but for counts of what happened before, and
// inspect/session the same causes, costs and figures.
//
// It may lag behind the stream until somebody asks, so that an idle agent does not wake it (see trace.Cursor.Batch).
//
// It never waits for who asks, and its memory is bounded by Options, in counts and in bytes; bodies of CRI calls are
// left out. Where bytes are short, what a late reader needs least goes first: what is over, then histories, then parts of
// pods, the older before the newer, and what one pod has more than others before what those have. Readers are told, as
// of a loss, how many records had to go. Run is its only goroutine. It publishes nothing.
package backlog
