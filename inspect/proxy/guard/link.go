package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Turn makes the link lead to a socket, at once: whoever follows it meanwhile gets to the one or the other. What is there and is no link
// is left alone. Its directory is made with mode 0700 where it is missing.
func Turn(link, socket string) error {
	to, err := Leads(link)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err == nil && to == socket:
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
		return fmt.Errorf("endpoint: %w", err)
	}
	next := filepath.Join(filepath.Dir(link), "."+filepath.Base(link)+"."+strconv.Itoa(os.Getpid()))
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process with that id that died here
		return fmt.Errorf("endpoint: %w", err)
	}
	if err := os.Symlink(socket, next); err != nil {
		return fmt.Errorf("endpoint: %w", err)
	}
	if err := os.Rename(next, link); err != nil {
		os.Remove(next) //nolint:errcheck // the error that matters is told
		return fmt.Errorf("endpoint: %w", err)
	}
	return nil
}

// Leads returns where the link leads to. It is an error if it is none.
func Leads(link string) (string, error) {
	info, err := os.Lstat(link)
	if err != nil {
		return "", fmt.Errorf("endpoint: %w", err)
	}
	if info.Mode().Type() != fs.ModeSymlink {
		return "", fmt.Errorf("endpoint: %s exists and is not a symbolic link: use another path", link)
	}
	to, err := os.Readlink(link)
	if err != nil {
		return "", fmt.Errorf("endpoint: %w", err)
	}
	return to, nil
}
