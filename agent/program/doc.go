// Package program runs programs that root installed, such as credential providers and flexvolume drivers, with a deadline and limits of
// their output.
//
// It owns the process group of a program while it runs: at the deadline, the program ends with its children. It never writes what a program
// printed into an error, because that may be secret. Each run has three goroutines until it returns. It publishes no event; the caller does.
package program
