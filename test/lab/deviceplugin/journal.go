package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// entry is a line of the journal: a call that the program answers, and what it gives.
type entry struct {
	// Program is the resource or the driver.
	Program string `json:"program"`
	Method  string `json:"method"`
	// Devices are those that the call is about.
	Devices []string `json:"devices,omitempty"`
	// Claim is the UID of a ResourceClaim.
	Claim string `json:"claim,omitempty"`
	Err   string `json:"err,omitempty"`
}

// journal is a file with a line for each call. Several programs can append to one file.
type journal struct {
	path    string
	program string
	mu      sync.Mutex
}

// add appends a line. One write per line, so that those of other programs are not mixed in.
func (j *journal) add(e entry) error {
	e.Program = j.program
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	f, err := os.OpenFile(j.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// hooks is a directory in which a test orders the death of an agent: the file PROGRAM.METHOD.begin or PROGRAM.METHOD.end has the number of
// a process, which gets SIGKILL at the next such call, before the work or before the answer. A file counts once.
type hooks struct{ dir, program string }

// at is called at one of these moments.
func (h hooks) at(method, when string) error {
	if h.dir == "" {
		return nil
	}
	path := filepath.Join(h.dir, h.program+"."+method+"."+when)
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return fmt.Errorf("%s: %q: want the number of a process", path, text)
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}
