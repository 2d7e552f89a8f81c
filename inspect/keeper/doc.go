// Package keeper keeps of a live stream what somebody who attaches late needs to know the node:
// for each pod the records of its start and the latest of everything that is a state, all that has begun and
// not ended, and the last of what is a history (iterations, calls, verdicts, log lines).
//
// It owns those records and nothing else. It makes none up: a backlog is a part of the
// stream, in its order, and folding it gives inspect/model the picture that folding all
// would, but for counts of what happened before.
//
// It may lag behind the stream until somebody asks, so that an idle agent does not wake it (see trace.Cursor.Lazy).
//
// It never waits for who asks, and its memory is bounded by Options; bodies of CRI calls are
// left out. Run is its only goroutine. It publishes nothing.
package keeper
