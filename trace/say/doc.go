// Package say describes records in words. Each sentence about a fact of a record is written here, once, for everything
// that people read: the terminal UI, lines, why, trace, inspect and reports.
//
// It owns no facts and decides nothing: no code reads what it returns. It runs no goroutines and publishes nothing.
package say
