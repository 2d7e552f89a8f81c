package resize

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/dump"
)

// info is one pod of a checkpoint. The fields' names are the file's.
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

// checkpoint is the file: data and its checksum.
type checkpoint struct {
	Data     string `json:"data"`
	Checksum uint64 `json:"checksum"`
}

// load reads a checkpoint; a file that is missing is empty.
func load(path string) (map[types.UID]info, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
		return map[types.UID]info{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what pods were allocated: %w", err)
	}
	var cp checkpoint
	if err := json.Unmarshal(text, &cp); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if sum := checksum(cp.Data); sum != cp.Checksum {
		return nil, fmt.Errorf("%s: checksum %d, want %d: drain the node and remove the file", path, cp.Checksum, sum)
	}
	var data entries
	if err := json.Unmarshal([]byte(cp.Data), &data); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if data.Entries == nil {
		data.Entries = map[types.UID]info{}
	}
	return data.Entries, nil
}

// save replaces a checkpoint as a whole.
func save(path string, pods map[types.UID]info) error {
	data, err := json.Marshal(entries{pods})
	if err != nil {
		return fmt.Errorf("save what pods were allocated: %w", err)
	}
	text, err := json.Marshal(checkpoint{Data: string(data), Checksum: checksum(string(data))})
	if err != nil {
		return fmt.Errorf("save what pods were allocated: %w", err)
	}
	next := path + ".tmp"
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return fmt.Errorf("save what pods were allocated: %w", err)
	}
	return os.Rename(next, path)
}

// Upstream: pkg/kubelet/checkpointmanager/checksum.
func checksum(data string) uint64 {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%v", dump.ForHash(data)) // a hash never fails
	return uint64(h.Sum32())
}
