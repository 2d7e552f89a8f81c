// Package replay plays a recording as if it were happening: with its own pace or
// another, paused, step by step, and from any place in it.
//
// It owns the replay's clock. It never changes a record, also not its time: whoever
// shows ages measures them with Player.Now. It has no goroutine; Next waits in its
// caller's, and the controls may be used from any other. It publishes nothing.
package replay
