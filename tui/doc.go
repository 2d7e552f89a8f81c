// Package tui shows a stream of records as a terminal UI: a header, tabs and one
// page at a time, at most ten frames a second however fast records come.
//
// The source is the agent of this process, an attached agent, or a recording with its Player. New events are drawn at up to 10 kB
// per second; the results of keys are drawn immediately.
//
// It owns the screen while Run runs, and the state that it draws, which is its own model of the records (inspect/model). It never
// imports the agent, never slows it (a slow terminal loses records and shows their number) and never stops it: Run returns when the
// user quits. Control characters are removed from everything that it draws.
//
// It runs one goroutine that reads the source and those of Bubble Tea. It
// publishes no event.
package tui
