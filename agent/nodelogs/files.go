package nodelogs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
)

// copyFile writes the log file of a service that does not log to the journal: SERVICE, SERVICE.log or SERVICE/SERVICE.log, the first that
// exists. What is wrong is a line of the answer, as upstream's.
func (h *Handler) copyFile(ctx context.Context, w io.Writer, service string) error {
	for _, name := range []string{service, service + ".log", service + "/" + service + ".log"} {
		f, err := h.open(name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		if err == nil {
			_, err = io.Copy(w, untilDone{ctx, f})
			_ = f.Close() // it was only read
		}
		if err != nil && ctx.Err() == nil {
			return say(w, "\nerror getting log for %s: %v\n", service, err)
		}
		return err
	}
	return say(w, "\nlog not found for %s\n", service)
}

// open opens a file; a directory does not count as one.
func (h *Handler) open(name string) (io.ReadCloser, error) {
	f, err := h.cfg.Files.Open("/" + name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fs.ErrNotExist
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// untilDone reads until a context ends.
type untilDone struct {
	ctx context.Context //nolint:containedctx // as long as the read
	r   io.Reader
}

// Read implements io.Reader.
func (u untilDone) Read(p []byte) (int, error) {
	if err := context.Cause(u.ctx); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

func say(w io.Writer, format string, args ...any) error {
	_, err := fmt.Fprintf(w, format, args...)
	return err
}
