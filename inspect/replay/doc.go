// Package replay plays a recording as if it were live: at its own speed or another one, paused, step by step, and from any
// position.
//
// It owns the replay's clock. It never changes a record or its time: measure ages with Player.Now. It has no goroutine; Next waits
// in its caller's, and the controls can be used from any other. It publishes nothing.
package replay
