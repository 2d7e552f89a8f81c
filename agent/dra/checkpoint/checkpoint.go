// Package checkpoint reads and writes the files in which the kubelet keeps which ResourceClaims DRA drivers prepared, and for which pods,
// and the health of the devices. The formats are upstream's, so that either agent reads the other's files.
//
// It owns no state and runs no goroutine. It publishes nothing.
//
// Upstream: pkg/kubelet/cm/dra/state, pkg/kubelet/checkpointmanager, pkg/kubelet/cm/dra/healthinfo.go.
package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

// Name is the file's name, in the kubelet's root directory.
const Name = "dra_manager_state"

// The type of the content.
const (
	kind       = "DRACheckpoint"
	apiVersion = "checkpoint.dra.kubelet.k8s.io/v1"
)

// maxSize limits the size of the file, in bytes. A claim has some hundred bytes, and at most 1 MiB of each driver's answer. Of all claims, there are
// at most 8 MiB of a driver.
const maxSize = 64 << 20

// Claim is a claim that pods of this node use.
type Claim struct {
	ClaimUID  types.UID
	ClaimName string
	Namespace string
	PodUIDs   sets.Set[string]
	// DriverState has all drivers that have devices of the claim.
	DriverState map[string]Driver
}

// Driver is what a driver prepared for a claim.
type Driver struct {
	Devices []Device
	// SkipNodeOperations are the calls that the driver does not need.
	SkipNodeOperations []resourceapi.SkipNodeOperation `json:"skipNodeOperations,omitempty"`
}

// Device is a device of a claim, as its driver described it.
type Device struct {
	PoolName     string
	DeviceName   string
	ShareID      *types.UID
	RequestNames []string
	CDIDeviceIDs []string
}

// content is encoded in file.Data.
type content struct {
	metav1.TypeMeta
	ClaimInfoStateList []Claim
}

// file is the content with its checksum.
type file struct {
	Data     string
	Checksum uint32
}

// UnreadableError is the error for a file that exists but cannot be decoded: it is damaged, or another version wrote it. It is not changed.
type UnreadableError struct {
	Path string
	Err  error
}

// Error implements error.
func (e *UnreadableError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

// Unwrap returns the underlying error.
func (e *UnreadableError) Unwrap() error { return e.Err }

// Read reads a checkpoint; a file that does not exist has no claims. Only root writes it. A file that cannot be decoded is an
// *UnreadableError.
func Read(path string) ([]Claim, error) {
	text, err := wholefile.Read(path, maxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the state of ResourceClaims: %w", err)
	}
	claims, err := parse(text)
	if err != nil {
		return nil, &UnreadableError{Path: path, Err: err}
	}
	return claims, nil
}

func parse(text []byte) ([]Claim, error) {
	if len(text) == 0 {
		return nil, errors.New("is empty, want a checkpoint as JSON")
	}
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	if sum := crc32.ChecksumIEEE([]byte(f.Data)); sum != f.Checksum {
		return nil, fmt.Errorf("checkpoint is corrupted: checksum %d, want %d", f.Checksum, sum)
	}
	var c content
	if err := json.Unmarshal([]byte(f.Data), &c); err != nil {
		return nil, err
	}
	if c.Kind != kind || c.APIVersion != apiVersion {
		return nil, fmt.Errorf("another version wrote it: kind %q of %q, want %q of %q", c.Kind, c.APIVersion, kind, apiVersion)
	}
	seen := map[types.NamespacedName]bool{}
	for i := range c.ClaimInfoStateList {
		c := &c.ClaimInfoStateList[i]
		name := types.NamespacedName{Namespace: c.Namespace, Name: c.ClaimName}
		if c.ClaimName == "" || c.ClaimUID == "" || seen[name] {
			return nil, fmt.Errorf("ResourceClaim %q with UID %q: want a name and a UID, and each claim once", name, c.ClaimUID)
		}
		seen[name] = true
	}
	return c.ClaimInfoStateList, nil
}

// What JSON in a text of JSON adds, in bytes.
const (
	perDevice = 128 // the names of a device's fields
	perText   = 5   // quotes and a comma
	quoted    = 4   // a quote or a backslash
	escaped   = 7   // another byte that JSON may escape, such as \u003c
)

// Size returns how many bytes devices need in the file at most.
func Size(devices []Device) (n int) {
	for i := range devices {
		d := &devices[i]
		n += perDevice + sizeOf(d.PoolName) + sizeOf(d.DeviceName)
		if d.ShareID != nil {
			n += sizeOf(string(*d.ShareID))
		}
		for _, text := range slices.Concat(d.RequestNames, d.CDIDeviceIDs) {
			n += sizeOf(text)
		}
	}
	return n
}

func sizeOf(text string) int {
	n := perText
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			n += quoted
		case c < ' ' || c == '<' || c == '>' || c == '&' || c >= 0x7f:
			n += escaped
		default:
			n++
		}
	}
	return n
}

// Write replaces the checkpoint atomically.
func Write(path string, claims []Claim) error {
	text, err := format(claims)
	if err == nil && len(text) > maxSize {
		err = fmt.Errorf("%d bytes are more than the limit of %d", len(text), maxSize)
	}
	if err == nil {
		err = wholefile.Write(path, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the state of ResourceClaims: %w", err)
	}
	return nil
}

func format(claims []Claim) ([]byte, error) {
	text, err := json.Marshal(content{TypeMeta: metav1.TypeMeta{Kind: kind, APIVersion: apiVersion}, ClaimInfoStateList: claims})
	if err != nil {
		return nil, err
	}
	return json.Marshal(file{Data: string(text), Checksum: crc32.ChecksumIEEE(text)})
}
