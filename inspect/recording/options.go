package recording

import (
	"errors"
	"fmt"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// DefaultMaxBytes is the default maximum size of a recording.
	DefaultMaxBytes = 256 << 20
	// MinMaxBytes is the smallest maximum size.
	MinMaxBytes = 64 << 10
)

// ErrExists is the error for a file that already has a session. See Options.New.
var ErrExists = errors.New("it already has a recorded session")

// Options are the options of a writer. The zero value is valid.
type Options struct {
	// MaxBytes limits the total size of FILE and FILE.1; 0 means DefaultMaxBytes.
	MaxBytes int64
	// New refuses a file that already has a session, with an error that is ErrExists; otherwise the session is appended to it.
	New bool
	// NoBodies omits the requests and responses of CRI calls.
	NoBodies bool
	// Node is the node's name, Kubeloupe the version of the writer.
	Node, Kubeloupe string
	// Backlog returns records that describe the current state of the node; nil for none. It is called when a new part begins, so
	// that a reader that has only this part knows the node. It must not call the Writer.
	Backlog func() []trace.Record
	// Tell is called when nothing can be written, for example on a full disk, and when writing works again; may be nil. It must not
	// call the Writer, and must not block.
	Tell func(Trouble)
}

func (o Options) check() (Options, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.MaxBytes < MinMaxBytes {
		return o, fmt.Errorf("field MaxBytes: %d bytes: must be at least %d", o.MaxBytes, MinMaxBytes)
	}
	return o, nil
}
