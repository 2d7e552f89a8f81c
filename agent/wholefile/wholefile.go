// Package wholefile replaces files that must survive a crash: after one, of the agent or of the machine, a file has its
// old content or its new one, never a part of it and never none.
//
// It owns no file and runs no goroutine. It publishes nothing: its callers report what could not be saved.
package wholefile

import (
	"errors"
	"os"
	"path/filepath"
)

// Unfinished is the suffix of a file that is being written, in the same directory. A crash can leave one, which the next Write
// removes.
const Unfinished = ".tmp"

// Write replaces or creates the file at path, in a directory that only the agent's user writes to. When it returns nil,
// content and name are on the disk; on an error, the old file is unchanged. Only one call for a path may run at a time.
func Write(path string, content []byte, mode os.FileMode) error {
	next := path + Unfinished
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	if err := os.Rename(next, path); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes names durable: otherwise a crash of the machine could undo a rename.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Aside renames a file that cannot be decoded, so that it is kept for analysis and is not read again. It returns the
// new name. An earlier renamed file is replaced.
func Aside(path string) (string, error) {
	aside := path + ".unreadable"
	return aside, os.Rename(path, aside)
}
