// Package checkpoint reads and writes the file in which the kubelet keeps which container has which devices. The format, with its
// checksum, is upstream's, so that either agent reads the other's file.
//
// It owns no state and runs no goroutine. It publishes nothing.
//
// The checksum contains the names of the package and of its types, as Go prints them: neither they nor the order of the fields may
// change.
//
// Upstream: pkg/kubelet/cm/devicemanager/checkpoint, pkg/kubelet/checkpointmanager.
package checkpoint

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"

	"k8s.io/utils/dump"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

// Name is the file's name, in the directory of device plugins.
const Name = "kubelet_internal_checkpoint"

// maxSize limits the size of the file, in bytes. Each container's answer from a plugin is at most 1 MiB, and usually some 100 bytes.
const maxSize = 64 << 20

// DevicesPerNUMA are IDs of devices by NUMA node, -1 for those that are on none. A device of several nodes is listed with each.
type DevicesPerNUMA map[int64][]string

// PodDevicesEntry has the devices that a container got of one resource.
type PodDevicesEntry struct {
	PodUID        string
	ContainerName string
	ResourceName  string
	DeviceIDs     DevicesPerNUMA
	// AllocResp is the plugin's ContainerAllocateResponse, encoded.
	AllocResp []byte
}

// checkpointData is the content, for which the checksum is computed.
type checkpointData struct {
	PodDeviceEntries []PodDevicesEntry
	// RegisteredDevices are the IDs of the healthy devices, by resource. Readers use the resources only.
	RegisteredDevices map[string][]string
}

// file is the content with its checksum.
type file struct {
	Data     checkpointData
	Checksum uint64
}

// UnreadableError is the error for a file that exists but cannot be decoded: it is damaged, or a newer version wrote it.
type UnreadableError struct {
	Path string
	Err  error
}

// Error implements error.
func (e *UnreadableError) Error() string {
	return fmt.Sprintf("%s: %v: it is damaged, or was written by a newer version", e.Path, e.Err)
}

// Unwrap returns the underlying error.
func (e *UnreadableError) Unwrap() error { return e.Err }

// Read reads a checkpoint; there reports whether the file exists. Only root writes it. A file that cannot be decoded is an
// *UnreadableError.
func Read(path string) (entries []PodDevicesEntry, registered map[string][]string, there bool, err error) {
	text, err := wholefile.Read(path, maxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, false, nil
	}
	if err != nil {
		return nil, nil, false, fmt.Errorf("read which devices pods have: %w", err)
	}
	f, err := parse(text)
	if err != nil {
		return nil, nil, true, &UnreadableError{Path: path, Err: err}
	}
	return f.Data.PodDeviceEntries, f.Data.RegisteredDevices, true, nil
}

func parse(text []byte) (file, error) {
	var f file
	if len(text) == 0 {
		return f, errors.New("is empty, want a checkpoint as JSON")
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return f, err
	}
	if sum := checksum(f.Data); sum != f.Checksum {
		return f, fmt.Errorf("checksum %d, want %d", f.Checksum, sum)
	}
	return f, nil
}

// Limits of what JSON adds, in bytes.
const (
	perEntry = 256 // the names of an entry's fields
	perNode  = 32  // the number of a NUMA node
	perText  = 3   // quotes and a comma
	escaped  = 6   // a character, such as \u003c
)

// Size returns how many bytes the devices of a container need in the file at most, without names, if the plugin's answer has that many bytes.
func Size(ids DevicesPerNUMA, answer int) int {
	n := perEntry + base64.StdEncoding.EncodedLen(answer)
	for _, of := range ids {
		n += perNode + sizeOf(of)
	}
	return n
}

func sizeOf(texts []string) (n int) {
	for _, text := range texts {
		n += perText + escaped*len(text)
	}
	return n
}

// fitting returns the registered devices, without their IDs if the file might be too long with them.
func fitting(entries []PodDevicesEntry, registered map[string][]string) map[string][]string {
	n := perEntry
	for i := range entries {
		e := &entries[i]
		n += Size(e.DeviceIDs, len(e.AllocResp)) + sizeOf([]string{e.PodUID, e.ContainerName, e.ResourceName})
	}
	names := make(map[string][]string, len(registered))
	for name, ids := range registered {
		n += sizeOf([]string{name}) + perText + sizeOf(ids)
		names[name] = []string{}
	}
	if n > maxSize {
		return names
	}
	return registered
}

// Write replaces the checkpoint atomically. It leaves out the IDs of registered devices if there are too many of them.
func Write(path string, entries []PodDevicesEntry, registered map[string][]string) error {
	registered = fitting(entries, registered)
	text, err := format(entries, registered)
	if err == nil && len(text) > maxSize {
		err = fmt.Errorf("%d bytes are more than the limit of %d", len(text), maxSize)
	}
	if err == nil {
		err = wholefile.Write(path, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write which devices pods have: %w", err)
	}
	return nil
}

func format(entries []PodDevicesEntry, registered map[string][]string) ([]byte, error) {
	f := file{Data: checkpointData{PodDeviceEntries: entries, RegisteredDevices: registered}}
	f.Checksum = checksum(f.Data)
	return json.Marshal(f)
}

// Upstream: pkg/kubelet/checkpointmanager/checksum; pkg/util/hash.
func checksum(data checkpointData) uint64 {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%v", dump.ForHash(data)) // a hash never returns an error
	return uint64(h.Sum32())
}
