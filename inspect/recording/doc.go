// Package recording keeps what happened in a file that opens again: bounded,
// compressed, and readable up to the tear when its writer was cut off.
//
// It owns the file format (docs/recording.md), the writer with its rotation
// (FILE and FILE.1), and the reader, which takes plain JSON lines as well. It
// never holds more than some frames of a recording in memory, never waits for
// whoever publishes, and never writes to a file that is not a recording.
//
// A Scanner of a file reads some frames ahead, each in a goroutine that ends with the frame.
// A Writer has no goroutine of its own; a timer writes what has waited for a
// second, and is armed only while something waits. It publishes nothing.
package recording
