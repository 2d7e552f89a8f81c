package logs

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	zipped = ".gz"
	halved = ".tmp"
	// rotatedAt is a time format that sorts by age.
	rotatedAt = "20060102-150405"
)

// rotate removes old files, compresses earlier rotated ones, and renames the log. The newest rotated log is not
// compressed: the container and log collectors may still use it. A file that is removed meanwhile, with its pod for example, needs no rotation.
//
// Upstream: pkg/kubelet/logs/container_log_manager.go, rotateLog.
func (r *Rotator) rotate(ctx context.Context, c Container) error {
	files, err := filepath.Glob(globEscape(c.Path) + ".*")
	if err != nil {
		return fmt.Errorf("rotate %s: %w", c.Path, err)
	}
	keep, remove := planRotation(files, r.cfg.MaxFiles)
	for _, f := range remove {
		if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("rotate %s: %w", c.Path, err)
		}
	}
	for _, f := range keep {
		if strings.HasSuffix(f, zipped) {
			continue
		}
		if err := compress(ctx, f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("rotate %s: compress: %w", c.Path, err)
		}
	}
	away := c.Path + "." + time.Now().Format(rotatedAt)
	switch err := os.Rename(c.Path, away); {
	case errors.Is(err, fs.ErrNotExist):
		return nil // if the container still runs, the next pass has the log created again
	case err != nil:
		return fmt.Errorf("rotate: %w", err)
	}
	if err := r.reopen(ctx, c.ID); err != nil {
		return errors.Join(err, putBack(away, c.Path))
	}
	return nil
}

// putBack gives a log its name back, to retry: the container still writes to it. A new log keeps the name: then the runtime has opened it,
// and only its answer was lost, for example because the agent ends. The container would write to a file without a name.
func putBack(away, path string) error {
	switch err := os.Link(away, path); {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil: // a file system without links
		return os.Rename(away, path)
	}
	return os.Remove(away)
}

// planRotation decides which files to keep. It removes incomplete files of an interrupted rotation, and logs that also
// exist compressed. Of the rest it keeps the newest, so that there are maxFiles with the log that is rotated now and
// the new one.
func planRotation(files []string, maxFiles int) (keep, remove []string) {
	for _, f := range files {
		if strings.HasSuffix(f, halved) || slices.Contains(files, f+zipped) {
			remove = append(remove, f)
		} else {
			keep = append(keep, f)
		}
	}
	slices.Sort(keep)
	excess := max(0, len(keep)-max(0, maxFiles-2))
	return keep[excess:], append(remove, keep[:excess]...)
}

// compress replaces a file by a compressed one; readers see one of the two completely. The container determines the
// file's length: it is read until ctx ends. Only root writes in its directory.
func compress(ctx context.Context, path string) (err error) {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // nothing was written
	st, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(path+halved, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, st.Mode())
	if err != nil {
		return err
	}
	zip := gzip.NewWriter(out)
	_, err = io.Copy(zip, until{ctx, in})
	if err = errors.Join(err, zip.Close(), out.Close()); err != nil {
		return errors.Join(err, os.Remove(path+halved))
	}
	if err := os.Rename(path+halved, path+zipped); err != nil {
		return err
	}
	return os.Remove(path)
}

// until reads until ctx ends.
type until struct {
	ctx  context.Context //nolint:containedctx // of one copy
	from io.Reader
}

// Read implements io.Reader.
func (u until) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.from.Read(p)
}

// globEscape returns a pattern that matches the path itself.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
