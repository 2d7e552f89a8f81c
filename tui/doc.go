// Package tui shows a stream of records as a terminal UI: a header, tabs and one
// page at a time, at most ten frames a second however fast records come.
//
// The source is a live agent, one that is attached, or a recording with its
// Player. What comes is drawn as far as 10 KB a second allow; what the user asks
// for is drawn at once.
//
// It owns the screen while Run runs and the picture it draws from, which is its
// own fold of the records (inspect/model). It never imports the agent, never
// slows it (a slow terminal loses records and says how many) and never decides
// what becomes of it: Run returns when the user quits. Everything it draws is
// cleaned of control characters first.
//
// It runs one goroutine that reads the source and those of Bubble Tea. It
// publishes no event.
package tui
