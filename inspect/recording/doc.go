// Package recording writes records to a file and reads them: the file is limited in size, compressed, and readable up to its last
// complete part after a crash of the writer.
//
// It owns the file format (docs/recording.md), the writer with its rotation (FILE and FILE.1), and the reader, which also reads
// plain JSON lines. It never has more than a few frames of a recording in memory, never delays a publisher, and never writes to a
// file that is not a recording.
//
// A Scanner of a file reads some frames ahead, each in a goroutine that ends with the frame. A Writer has no goroutine of its own;
// a timer writes records that have waited for a second, and runs only while records wait. It publishes nothing.
package recording
