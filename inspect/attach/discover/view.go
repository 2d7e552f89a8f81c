package discover

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/attach/rootfile"
)

// View is a machine's files, with /proc, named without a leading slash.
type View interface {
	fs.ReadLinkFS
}

const (
	// maxFile bounds what is read of one file, maxNames what is listed of one directory.
	maxFile  = 4 << 20
	maxNames = 1 << 16
	// maxLinks is how many symbolic links a path may lead through.
	maxLinks = 40
)

// read returns the beginning of a file, maxFile bytes at most. Anything but a regular file is an error.
func read(v View, name string) ([]byte, error) {
	f, err := v.Open(name)
	if err != nil {
		return nil, err
	}
	return rootfile.Regular(f, name, maxFile)
}

// list returns the names in a directory, maxNames at most, in the order of the directory.
func list(v View, name string) ([]string, error) {
	f, err := v.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	d, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, fmt.Errorf("%s is not a directory", name)
	}
	var names []string
	for len(names) < maxNames {
		entries, err := d.ReadDir(256)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if errors.Is(err, io.EOF) || err == nil && len(entries) == 0 {
			return names, nil
		}
		if err != nil {
			return names, err
		}
	}
	return names, nil
}

// within finds a path as a process sees it whose root is at root: a symbolic link leads nowhere else. It returns the name for the View.
func within(v View, root, name string) (string, error) {
	todo := strings.Split(path.Clean("/"+name), "/")
	var at []string
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = at[:max(len(at)-1, 0)]
			continue
		}
		full := path.Join(root, path.Join(at...), part)
		st, err := v.Lstat(full)
		if err != nil {
			return "", err
		}
		if st.Mode()&fs.ModeSymlink == 0 {
			at = append(at, part)
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%s: too many symbolic links", name)
		}
		to, err := v.ReadLink(full)
		if err != nil {
			return "", err
		}
		if strings.HasPrefix(to, "/") {
			at = nil
		}
		todo = append(strings.Split(to, "/"), todo...)
	}
	return path.Join(root, path.Join(at...)), nil
}

// readWithin is read of a path as a process sees it.
func readWithin(v View, root, name string) ([]byte, error) {
	full, err := within(v, root, name)
	if err != nil {
		return nil, err
	}
	return read(v, full)
}
