package csi

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// The limits of what a driver says about health. The API server rejects a whole status that exceeds the first three.
const (
	maxConditions = 16
	maxReason     = 256  // bytes
	maxMessage    = 1024 // bytes
	// maxMessages limits all messages of an answer, maxAnswer the answer itself, in bytes.
	maxMessages = 4 << 10
	maxAnswer   = 256 << 10
)

// The statuses that are known. A driver may report others, which are ignored.
//
// Upstream: pkg/volume/csi/csi_client.go, mapVolumeHealthStatus, mapStorageHealthStatus.
func volumeStatus(s csipb.VolumeHealthErrorType) v1.VolumeHealthStatusType {
	switch s {
	case csipb.VolumeHealthErrorType_INACCESSIBLE:
		return v1.VolumeHealthInaccessible
	case csipb.VolumeHealthErrorType_DATA_LOSS:
		return v1.VolumeHealthDataLoss
	case csipb.VolumeHealthErrorType_DEGRADED:
		return v1.VolumeHealthDegraded
	case csipb.VolumeHealthErrorType_UNKNOWN_VOLUME_HEALTH_TYPE:
	}
	return ""
}

func storageStatus(s csipb.StorageHealthErrorType) storagev1.StorageHealthStatusType {
	switch s {
	case csipb.StorageHealthErrorType_STORAGE_UNREACHABLE:
		return storagev1.StorageUnreachable
	case csipb.StorageHealthErrorType_STORAGE_DEGRADED:
		return storagev1.StorageDegraded
	case csipb.StorageHealthErrorType_UNKNOWN_STORAGE_HEALTH_ERROR_TYPE:
	}
	return ""
}

// volumeConditions returns a volume's conditions, each status and reason once. Of too many, the same are left out each time.
//
// Upstream: pkg/volume/csi/csi_client.go, mapVolumeHealthConditions.
func volumeConditions(from *csipb.VolumeHealth) []v1.VolumeHealthCondition {
	var out []v1.VolumeHealthCondition
	seen := map[[2]string]bool{}
	for _, e := range from.GetHealthStatuses() {
		c := v1.VolumeHealthCondition{Status: volumeStatus(e.GetStatus()), Reason: reason(e.GetReason()), Message: e.GetMessage()}
		if id := [2]string{string(c.Status), c.Reason}; c.Status != "" && !seen[id] {
			seen[id] = true
			out = append(out, c)
		}
	}
	if len(out) > maxConditions {
		worst := []v1.VolumeHealthStatusType{v1.VolumeHealthInaccessible, v1.VolumeHealthDataLoss, v1.VolumeHealthDegraded}
		sorting.Stable(out, func(a, b *v1.VolumeHealthCondition) int {
			return cmp.Or(slices.Index(worst, a.Status)-slices.Index(worst, b.Status), strings.Compare(a.Reason, b.Reason))
		})
		out = out[:maxConditions]
	}
	left := maxMessages
	for i := range out {
		out[i].Message = message(out[i].Message, &left)
	}
	return out
}

// storageConditions returns the conditions of a driver's backend. Too many are an error, and so is a capability that is not valid.
//
// Upstream: pkg/volume/csi/csi_client.go, mapStorageBackendHealth.
func storageConditions(from []*csipb.NodeGetStorageHealthResponse_StorageBackendHealth) ([]storagev1.StorageHealthCondition, error) {
	if len(from) > maxConditions {
		return nil, fmt.Errorf("NodeGetStorageHealth returned %d conditions, maximum is %d", len(from), maxConditions)
	}
	var out []storagev1.StorageHealthCondition
	left := maxMessages
	for i, e := range from {
		c := storagev1.StorageHealthCondition{Status: storageStatus(e.GetStatus()), Reason: reason(e.GetReason())}
		if c.Status == "" {
			continue
		}
		if what := e.GetVolumeCapability(); what != nil {
			access, mode, err := affected(what)
			if err != nil {
				return nil, fmt.Errorf("NodeGetStorageHealth condition %d has invalid volume capability: %w", i, err)
			}
			c.AccessMode, c.VolumeMode = &access, &mode
		}
		if !slices.ContainsFunc(out, func(o storagev1.StorageHealthCondition) bool { return identify(&o) == identify(&c) }) {
			c.Message = message(e.GetMessage(), &left)
			out = append(out, c)
		}
	}
	return out, nil
}

// affected returns which volumes a condition of a backend is about.
//
// Upstream: pkg/volume/csi/csi_client.go, mapStorageHealthVolumeCapability.
func affected(what *csipb.VolumeCapability) (access v1.PersistentVolumeAccessMode, mode v1.PersistentVolumeMode, err error) {
	switch {
	case what.GetBlock() != nil:
		mode = v1.PersistentVolumeBlock
	case what.GetMount() != nil:
		mode = v1.PersistentVolumeFilesystem
	default:
		return "", "", errors.New("access type is required")
	}
	if what.GetAccessMode() == nil {
		return "", "", errors.New("access mode is required")
	}
	switch m := what.GetAccessMode().GetMode(); m {
	case csipb.VolumeCapability_AccessMode_SINGLE_NODE_WRITER, csipb.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY,
		csipb.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER:
		access = v1.ReadWriteOnce
	case csipb.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER:
		access = v1.ReadWriteOncePod
	case csipb.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY:
		access = v1.ReadOnlyMany
	case csipb.VolumeCapability_AccessMode_MULTI_NODE_SINGLE_WRITER, csipb.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER:
		access = v1.ReadWriteMany
	case csipb.VolumeCapability_AccessMode_UNKNOWN:
		fallthrough
	default:
		return "", "", fmt.Errorf("unsupported access mode %q", m)
	}
	return access, mode, nil
}

// reason returns a reason that the API server accepts: a letter, then letters, digits, and "_,:".
//
// Upstream: apimachinery/pkg/apis/meta/v1/validation, IsValidConditionReason.
func reason(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == ',' || r == ':' {
			return r
		}
		return '_'
	}, s[:min(len(s), maxReason)])
	s = strings.TrimRight(strings.TrimLeft(s, "0123456789_,:"), ",:")
	return cmp.Or(s, "Unknown")
}

// message returns a message within its limit and what is left of that of all, which it reduces.
func message(s string, left *int) string {
	s = strings.ToValidUTF8(s[:min(len(s), maxMessage, *left)], "")
	*left -= len(s)
	return s
}
