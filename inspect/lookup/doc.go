// Package lookup finds what a user names: pods, and names of fixed lists such as views and kinds of events. For what does
// not exist there is one error with one wording, NotFoundError.
//
// It keeps no state, runs no goroutine and publishes nothing.
package lookup
