package resize

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/dump"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

// info is one pod of a checkpoint. The fields have the file's names.
//
// Upstream: pkg/kubelet/allocation/state/state.go, PodResourceInfo.
type info struct {
	ContainerResources   map[string]v1.ResourceRequirements
	PodLevelResources    *v1.ResourceRequirements
	EmptyDirVolumeLimits map[string]*resource.Quantity
}

type entries struct {
	Entries map[types.UID]info `json:"entries,omitempty"`
}

// checkpoint is the file's content: data and its checksum.
type checkpoint struct {
	Data     string `json:"data"`
	Checksum uint64 `json:"checksum"`
}

// errUnreadable is load's error for a corrupt file.
type errUnreadable struct {
	path string
	err  error
}

func (e errUnreadable) Error() string { return e.path + ": " + e.err.Error() }
func (e errUnreadable) Unwrap() error { return e.err }

// maxCheckpoint limits the size of a checkpoint, in bytes: 500 pods of 20 containers need some 4 MiB.
const maxCheckpoint = 64 << 20

// load reads a checkpoint; a missing file means no pods. An empty file is an error: a crash of an agent that does not
// write files atomically can cause it. Only root writes there.
func load(path string) (map[types.UID]info, error) {
	text, err := wholefile.Read(path, maxCheckpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return map[types.UID]info{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what pods were allocated: %w", err)
	}
	pods, err := parse(text)
	if err != nil {
		return nil, errUnreadable{path, err}
	}
	return pods, nil
}

// parse decodes a checkpoint.
func parse(text []byte) (map[types.UID]info, error) {
	if len(text) == 0 {
		return nil, errors.New("is empty, want a checkpoint as JSON")
	}
	var cp checkpoint
	if err := json.Unmarshal(text, &cp); err != nil {
		return nil, err
	}
	if sum := checksum(cp.Data); sum != cp.Checksum {
		return nil, fmt.Errorf("checksum %d, want %d", cp.Checksum, sum)
	}
	var data entries
	if err := json.Unmarshal([]byte(cp.Data), &data); err != nil {
		return nil, err
	}
	if data.Entries == nil {
		data.Entries = map[types.UID]info{}
	}
	return data.Entries, nil
}

// format encodes a checkpoint.
func format(pods map[types.UID]info) ([]byte, error) {
	data, err := json.Marshal(entries{pods})
	if err != nil {
		return nil, fmt.Errorf("save what pods were allocated: %w", err)
	}
	return json.Marshal(checkpoint{Data: string(data), Checksum: checksum(string(data))})
}

// save replaces a checkpoint atomically.
func save(path string, text []byte) error {
	if err := wholefile.Write(path, text, 0o600); err != nil {
		return fmt.Errorf("save what pods were allocated: %w", err)
	}
	return nil
}

// Upstream: pkg/kubelet/checkpointmanager/checksum.
func checksum(data string) uint64 {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%v", dump.ForHash(data)) // a hash never returns an error
	return uint64(h.Sum32())
}
