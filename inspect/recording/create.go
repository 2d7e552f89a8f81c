package recording

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Create begins to record to a file. It adds a session to an existing recording. Any other file, unless it is empty, is
// not changed and causes an error.
func Create(path string, opt Options) (*Writer, error) {
	w, err := create(path, opt)
	if err != nil {
		return nil, fmt.Errorf("record to %s: %w", path, err)
	}
	return w, nil
}

func create(path string, opt Options) (*Writer, error) {
	opt, err := opt.check()
	if err != nil {
		return nil, err
	}
	p, err := newPacker()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	w := &Writer{
		path: path, opt: opt, packer: p, began: now.UnixNano(), make: makeFile, mu: make(turn, 1), trouble: teller{tell: opt.Tell},
		header: Header{Created: now.UTC(), Node: opt.Node, Kubeloupe: opt.Kubeloupe, Part: 1},
	}
	w.file, err = makeFile(path)
	if errors.Is(err, fs.ErrExist) {
		w.file, err = reopen(path)
	}
	if err != nil {
		return nil, err
	}
	if err := w.beginSession(); err != nil {
		return nil, errors.Join(err, w.file.Close())
	}
	return w, nil
}

// beginSession writes a header to the opened file, which may be new.
func (w *Writer) beginSession() error {
	st, err := w.file.Stat()
	if err != nil {
		return err
	}
	if st.Size() == 0 {
		w.header.Recording = newRecording()
		return errors.Join(w.file.Chmod(0o600), w.file.begin(&w.header))
	}
	ix, err := indexFile(w.file, st.Size())
	if err != nil {
		return fmt.Errorf("it is there and not written to: %w", err)
	}
	if len(ix.sessions) == 0 {
		return errors.New("it already exists and is not overwritten: a recording without a header")
	}
	if w.opt.New {
		return ErrExists
	}
	h := ix.sessions[0].Header
	w.header.Recording, w.header.Part, w.header.Before = h.Recording, h.Part, h.Before
	w.header.Cut = Cut{Bytes: st.Size() - ix.end, Records: ix.tornRecords}
	w.written = ix.count
	w.file.size = ix.end
	if err := errors.Join(w.file.Chmod(0o600), w.file.Truncate(ix.end)); err != nil {
		return err
	}
	if ix.version < Version { // new sessions have this version
		if _, err := w.file.WriteAt(appendPrelude(nil), 0); err != nil {
			return err
		}
	}
	if w.file.size >= w.opt.MaxBytes/2 {
		return w.rotate(false)
	}
	frame, err := w.header.frame()
	if err != nil {
		return err
	}
	return w.file.put(frame)
}

// rotate renames the file to the older part, replacing an earlier one, and continues in a new file, with the same
// session or a new one. If it fails, the file is unchanged; if there was no room for the new one, the earlier one was
// removed.
func (w *Writer) rotate(continues bool) error {
	if err := isOurs(older(w.path)); err != nil {
		return err
	}
	h := w.header
	h.Part++
	h.Continues = continues
	if continues {
		h.Cut = Cut{}
	}
	h.Before.Records += w.written.Records
	h.Before.Lost += w.written.Lost
	fresh := w.path + ".new"
	next, err := w.begin(fresh, &h)
	if full(err) && os.Remove(older(w.path)) == nil {
		next, err = w.begin(fresh, &h)
	}
	if err != nil {
		return err
	}
	if err := os.Rename(w.path, older(w.path)); err != nil {
		return errors.Join(err, next.Close(), os.Remove(fresh))
	}
	if err := os.Rename(fresh, w.path); err != nil {
		return errors.Join(err, next.Close(), os.Rename(older(w.path), w.path))
	}
	old := w.file
	w.file, w.header, w.written = next, h, Count{}
	return old.Close()
}

// isOurs returns an error for a file that is not a recording.
func isOurs(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		p, bad := readAt(f, 0, preludeLen)
		if bad != nil && !errors.Is(bad, io.EOF) {
			err = bad
		} else {
			_, err = checkPrelude(p)
		}
		_ = f.Close() // nothing was written
	}
	if err != nil {
		return fmt.Errorf("%s would be replaced and was not changed: %w", path, err)
	}
	return nil
}

// begin creates a temporary part next to the file and syncs it to the disk.
func (w *Writer) begin(path string, h *Header) (*file, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // from a crash
		return nil, err
	}
	next, err := w.make(path)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(next.begin(h), w.file.Sync()); err != nil {
		return nil, errors.Join(err, next.Close(), os.Remove(path))
	}
	return next, nil
}

// full reports whether free disk space would fix an error.
func full(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }
