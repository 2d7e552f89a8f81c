// Package conns bounds what callers can hold of a listener: how many connections there are, how much memory those have
// that nobody vouches for, and how many of a thing one source has at a time.
//
// It owns the listener's bookkeeping. It never reads more than it was asked to, decides nothing about requests and
// publishes nothing. It runs no goroutine.
//
// Whoever reaches the port can open connections and write to them, so nothing here trusts a peer. A connection is
// unknown until [Conn.Vouch]. When there are more unknown ones than may be, the source that has the most of them loses
// its oldest: a newcomer always gets in, and whoever floods pushes out its own.
package conns
