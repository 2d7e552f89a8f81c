package bundle

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/logfile"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// kind is what a file is.
type kind uint8

const (
	kindOther kind = iota
	kindLog
	kindObjects
	kindTar
)

// file is one that matters.
type file struct {
	name string // as people know it
	mod  time.Time
	kind kind
	head string // how its text begins
	open func() (io.ReadCloser, error)
}

// find returns the files that matter of what was named: files, and those of directories and archives.
func (s *Source) find(ctx context.Context, paths []string) (out []file, err error) {
	given := make([]fs.FileInfo, len(paths))
	for i, p := range paths {
		st, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		given[i] = st
		first := slices.IndexFunc(given[:i], func(o fs.FileInfo) bool { return os.SameFile(o, st) })
		switch {
		case first >= 0:
			s.leftOut(p, paths[first])
			continue
		case st.IsDir():
			all, err := s.tree(ctx, p, p)
			if err != nil {
				return nil, err
			}
			out = append(out, all...)
			continue
		case !st.Mode().IsRegular():
			return nil, fmt.Errorf("%s: it is neither a file nor a directory", p)
		}
		f := file{name: p, mod: st.ModTime(), open: func() (io.ReadCloser, error) {
			r, err := os.Open(p)
			return reads(ctx, r), err
		}}
		switch err := f.sniff(); {
		case err != nil:
			return nil, err
		case f.kind == kindTar:
			all, err := s.archive(ctx, f)
			if err != nil {
				return nil, err
			}
			out = append(out, all...)
		case f.kind == kindOther:
			return nil, fmt.Errorf("%s: it is %w", p, ErrNothing)
		default:
			out = append(out, f)
		}
	}
	if out, err = s.distinct(out); err != nil {
		return nil, err
	}
	if len(out) > MaxFiles {
		s.told.Notes = append(s.told.Notes, fmt.Sprintf("%d further files that may matter are left out", len(out)-MaxFiles))
		out = out[:MaxFiles]
	}
	return out, nil
}

// sniff finds out what a file is, by its beginning.
func (f *file) sniff() error {
	r, err := f.open()
	if err != nil {
		return err
	}
	head := make([]byte, sniffed)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.Join(fmt.Errorf("%s: %w", f.name, err), r.Close())
	}
	head = head[:n]
	text := plain(head)
	switch {
	case isTar(text):
		f.kind = kindTar
	case isObjects(text):
		f.kind = kindObjects
	case logfile.Sniff(head):
		f.kind = kindLog
	}
	f.head = string(text[:min(len(text), begins)])
	return r.Close()
}

// plain is the beginning of a file, decompressed.
func plain(head []byte) []byte {
	if !bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
		return head
	}
	z, err := gzip.NewReader(bytes.NewReader(head))
	if err != nil {
		return nil
	}
	text := make([]byte, 64<<10)
	n, _ := io.ReadFull(z, text)
	return text[:n]
}

// isTar reports whether a file begins as tar files do.
func isTar(head []byte) bool { return len(head) > 262 && string(head[257:262]) == "ustar" }

// matters are the names of files in trees and archives that are looked at: journals, logs of kubelets and runtimes, Events and pods.
var matters = regexp.MustCompile(`(?i)(kubelet|containerd|cri-?o\b|crio|journal|messages|syslog|/events?\.(json|ya?ml)|/pods?\.(json|ya?ml)|/pods/[^/]+/[^/]+\.ya?ml$|rke2|k3s|k0s|microk8s|kubelite)`)

// whole are the names of journals of the whole node: where a tree has one of the kubelet alone, they tell the same again.
var whole = regexp.MustCompile(`(?i)(journalctl|journal|messages|syslog)`)

var units = regexp.MustCompile(`(?i)(kubelet|containerd|cri-?o|rke2|k3s|k0s|microk8s)`)

// maybe reports whether a name of a tree is looked at. Logs of pods and configuration are not.
func maybe(name string) bool {
	if !matters.MatchString("/" + name) {
		return false
	}
	switch strings.ToLower(path.Ext(strings.TrimSuffix(name, ".gz"))) {
	case ".conf", ".toml", ".service", ".crt", ".key", ".pem", ".html", ".sock", ".yml~", ".sh", ".md", ".so", ".exe", ".png":
		return false
	}
	return true
}

// tree are the files of a directory that matter. No link out of it is followed.
func (s *Source) tree(ctx context.Context, dir, name string) (out []file, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // it was only read
	names := 0
	err = fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if names++; names > maxNames {
			s.told.Notes = append(s.told.Notes, fmt.Sprintf("%s: only its first %d names are looked at", name, maxNames))
			return fs.SkipAll
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			if p == "." {
				return err
			}
			return fs.SkipDir // of what cannot be read the rest matters
		case d.IsDir() && strings.Count(p, "/") >= maxDepth:
			return fs.SkipDir
		case !d.Type().IsRegular() || !maybe(p):
			return nil
		}
		f := file{name: path.Join(name, p), open: func() (io.ReadCloser, error) {
			r, err := within(dir, p)
			return reads(ctx, r), err
		}}
		if st, err := d.Info(); err == nil {
			f.mod = st.ModTime()
		}
		if err = f.sniff(); err == nil && (f.kind == kindLog || f.kind == kindObjects) {
			out = append(out, f)
		}
		return nil
	})
	return preferred(out), err
}

// within opens a file below a directory, and nothing elsewhere.
func within(dir, name string) (io.ReadCloser, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // what was opened stays open
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is no regular file any more", name), err, f.Close())
	}
	return f, nil
}

// preferred leaves out journals of the whole node where there are logs of the kubelet itself: they tell the same again.
func preferred(all []file) []file {
	own := slices.ContainsFunc(all, func(f file) bool { return f.kind == kindLog && units.MatchString(path.Base(f.name)) })
	if !own {
		return all
	}
	return slices.DeleteFunc(all, func(f file) bool {
		return f.kind == kindLog && whole.MatchString(path.Base(f.name)) && !units.MatchString(path.Base(f.name))
	})
}

// turned is what rotation puts to a log's name: .1, -20260102.gz, .20260102-030405.
var turned = regexp.MustCompile(`(\.gz|\.old|\.\d{1,3}|[-.]\d{8}([-T]?\d{6}(\.\d{3})?)?|[-.]\d{4}-\d\d-\d\d([-T_]\d\d[-:]?\d\d[-:]?\d\d(\.\d+)?)?)$`)

// stem is a log's name without what rotation put to it.
func stem(name string) string {
	for range 4 {
		short := turned.ReplaceAllString(name, "")
		if short == name {
			break
		}
		name = short
	}
	return name
}

// chainsOf puts the rotated pieces of one log into the order of their times.
func chainsOf(logs []file) (out [][]file) {
	byStem := map[string]int{}
	for _, f := range logs {
		key := stem(f.name)
		if i, ok := byStem[key]; ok {
			out[i] = append(out[i], f)
			continue
		}
		byStem[key] = len(out)
		out = append(out, []file{f})
	}
	for _, files := range out {
		if len(files) < 2 {
			continue
		}
		first := map[string]int64{}
		for _, f := range files {
			first[f.name] = firstTime(f)
		}
		sorting.Stable(files, func(a, b *file) int { return cmp.Compare(first[a.name], first[b.name]) })
	}
	return out
}

// firstTime is when a log begins; its file's time where it has no entry.
func firstTime(f file) int64 {
	at := f.mod.UnixNano()
	r, err := f.open()
	if err != nil {
		return at
	}
	defer r.Close() //nolint:errcheck // it was only read
	found := int64(0)
	log, err := logfile.NewReader(r, logfile.Options{Zone: time.UTC, Latest: f.mod, Runtime: func(line string) bool {
		if l, ok := lineTime(line); ok && found == 0 {
			found = l
		}
		return true
	}})
	if err != nil {
		return at
	}
	for range 10_000 {
		it, err := log.Next()
		if found != 0 {
			return found
		}
		if err != nil {
			break
		}
		if !it.Entry.Time.IsZero() {
			return it.Entry.Time.UnixNano()
		}
	}
	return at
}
