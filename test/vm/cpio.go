package vm

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// File is one file, directory or link of the machine's tree.
type File struct {
	// Path is where it is in the machine, from the root on. Directories above it are made.
	Path string
	// From is a file or directory of this machine, with all below it. Without it, Text is what the file holds.
	From, Text string
	// Link makes it a symbolic link to there.
	Link string
	// Mode are its permissions; 0 means those of From, or 0644.
	Mode fs.FileMode
}

// writeTree writes an archive that the kernel unpacks as its first file system ("newc" cpio).
func writeTree(out io.Writer, files []File) error {
	w := &archive{w: bufio.NewWriterSize(out, 1<<20), made: map[string]bool{".": true, "/": true}}
	for _, f := range files {
		if err := w.add(f); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	w.entry("TRAILER!!!", 0, 0, nil)
	return errors.Join(w.err, w.w.Flush())
}

type archive struct {
	w    *bufio.Writer
	err  error
	made map[string]bool
	ino  int
}

const (
	typeFile = 0o100000
	typeDir  = 0o040000
	typeLink = 0o120000
)

func (a *archive) add(f File) error {
	name := strings.TrimPrefix(path.Clean(f.Path), "/")
	a.dirs(path.Dir(name))
	switch {
	case f.Link != "":
		a.bytes(name, typeLink|0o777, f.Link)
		return a.err
	case f.From == "":
		mode := f.Mode
		if mode == 0 {
			mode = 0o644
		}
		a.bytes(name, typeFile|int(mode.Perm()), f.Text)
		return a.err
	}
	return filepath.WalkDir(f.From, func(from string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(f.From, from)
		if err != nil {
			return err
		}
		to := path.Join(name, filepath.ToSlash(rel))
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := info.Mode()
		switch {
		case mode.IsDir():
			a.dirs(to)
		case mode&fs.ModeSymlink != 0:
			link, err := os.Readlink(from)
			if err != nil {
				return err
			}
			a.bytes(to, typeLink|0o777, link)
		case mode.IsRegular():
			if f.Mode != 0 {
				mode = f.Mode
			}
			return a.file(to, from, info.Size(), mode)
		}
		return a.err
	})
}

func (a *archive) dirs(name string) {
	if a.made[name] {
		return
	}
	a.dirs(path.Dir(name))
	a.made[name] = true
	a.entry(name, typeDir|0o755, 0, nil)
}

func (a *archive) bytes(name string, mode int, text string) {
	a.entry(name, mode, int64(len(text)), strings.NewReader(text))
}

func (a *archive) file(name, from string, size int64, mode fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	a.entry(name, typeFile|int(mode.Perm()), size, in)
	return a.err
}

// entry writes a header of 13 numbers, a name and data, each padded to four bytes.
func (a *archive) entry(name string, mode int, size int64, data io.Reader) {
	if a.err != nil {
		return
	}
	a.ino++
	var h strings.Builder
	h.WriteString("070701")
	for _, n := range []int64{int64(a.ino), int64(mode), 0, 0, 1, 0, size, 0, 0, 0, 0, int64(len(name) + 1), 0} {
		_, _ = fmt.Fprintf(&h, "%08x", n)
	}
	h.WriteString(name + "\x00")
	pad := func(n int) string { return strings.Repeat("\x00", -n&3) }
	_, a.err = a.w.WriteString(h.String() + pad(h.Len()))
	if a.err == nil && data != nil {
		_, a.err = io.CopyN(a.w, data, size)
	}
	if a.err == nil {
		_, a.err = a.w.WriteString(pad(int(size & 3)))
	}
}

// links are symbolic links from each name in dir to a program.
func links(dir, program string, names []string) []File {
	var out []File
	for _, n := range slices.Sorted(slices.Values(names)) {
		out = append(out, File{Path: path.Join(dir, n), Link: program})
	}
	return out
}

// follow returns the file that links lead to.
func follow(name string) string {
	if to, err := filepath.EvalSymlinks(name); err == nil {
		return to
	}
	return name
}
