package csi

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
)

type entry = csipb.VolumeHealth_VolumeHealthEntry

func healthOf(entries ...*entry) *csipb.VolumeHealth {
	return &csipb.VolumeHealth{HealthStatuses: entries}
}

func degraded(reason, message string) *entry {
	return &entry{Status: csipb.VolumeHealthErrorType_DEGRADED, Reason: reason, Message: message}
}

func TestVolumeConditions(t *testing.T) {
	for _, c := range []struct {
		name string
		from *csipb.VolumeHealth
		want []v1.VolumeHealthCondition
	}{
		{"nothing", nil, nil},
		{"healthy", healthOf(), nil},
		{
			"all statuses", healthOf(degraded("SlowDisk", "1 of 2 paths"), nil,
				&entry{Status: csipb.VolumeHealthErrorType_INACCESSIBLE, Reason: "NoPath"}, &entry{Status: csipb.VolumeHealthErrorType_DATA_LOSS, Reason: "Corrupt"}),
			[]v1.VolumeHealthCondition{
				{Status: v1.VolumeHealthDegraded, Reason: "SlowDisk", Message: "1 of 2 paths"},
				{Status: v1.VolumeHealthInaccessible, Reason: "NoPath"},
				{Status: v1.VolumeHealthDataLoss, Reason: "Corrupt"},
			},
		},
		{"statuses that are unknown", healthOf(&entry{Reason: "X"}, &entry{Status: 99, Reason: "X"}), nil},
		{
			"the same twice", healthOf(degraded("A", "first"), degraded("A", "second")),
			[]v1.VolumeHealthCondition{{Status: v1.VolumeHealthDegraded, Reason: "A", Message: "first"}},
		},
		{
			"the same reason of two statuses", healthOf(degraded("A", ""), &entry{Status: csipb.VolumeHealthErrorType_INACCESSIBLE, Reason: "A"}),
			[]v1.VolumeHealthCondition{{Status: v1.VolumeHealthDegraded, Reason: "A"}, {Status: v1.VolumeHealthInaccessible, Reason: "A"}},
		},
		{
			"reasons that are not valid", healthOf(degraded("", ""), degraded("9 disks are slow:", "")),
			[]v1.VolumeHealthCondition{{Status: v1.VolumeHealthDegraded, Reason: "Unknown"}, {Status: v1.VolumeHealthDegraded, Reason: "disks_are_slow"}},
		},
	} {
		if diff := cmp.Diff(c.want, volumeConditions(c.from)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// Of too many conditions, the same are left out whatever their order is, and none of the worst kind.
func TestTooManyConditions(t *testing.T) {
	entries := []*entry{{Status: csipb.VolumeHealthErrorType_INACCESSIBLE, Reason: "Zzz"}}
	for i := range 20 {
		entries = append(entries, degraded(fmt.Sprintf("R%02d", i), ""))
	}
	first := volumeConditions(healthOf(entries...))
	slices.Reverse(entries)
	if second := volumeConditions(healthOf(entries...)); len(first) != maxConditions || cmp.Diff(first, second) != "" || first[0].Status != v1.VolumeHealthInaccessible {
		t.Errorf("%d conditions: %v\nin another order: %v", len(first), first, second)
	}
}

func TestLongTexts(t *testing.T) {
	var entries []*entry
	for i := range maxConditions {
		entries = append(entries, degraded(fmt.Sprintf("R%02d", i)+strings.Repeat("ü", 300), strings.Repeat("ü", 3000)))
	}
	sum := 0
	got := volumeConditions(healthOf(entries...))
	for _, c := range got {
		sum += len(c.Message)
		if len(c.Reason) > maxReason || len(c.Message) > maxMessage || !utf8.ValidString(c.Message) {
			t.Errorf("reason of %d bytes, message of %d bytes, valid %v", len(c.Reason), len(c.Message), utf8.ValidString(c.Message))
		}
	}
	if len(got) != maxConditions || sum > maxMessages || len(got[0].Message) < maxMessage-1 {
		t.Errorf("%d conditions with messages of %d bytes, the first has %d", len(got), sum, len(got[0].Message))
	}
}

// The API server accepts every reason.
func FuzzReason(f *testing.F) {
	for _, s := range []string{"", "SlowDisk", "9", ",:", "A:", "_", "a b", "ü", "\xff", strings.Repeat("x", 300), "A\x00B", "ReasonA,ReasonB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := reason(s)
		if msgs := metav1validation.IsValidConditionReason(got); len(msgs) > 0 || len(got) > maxReason {
			t.Errorf("%q became %q: %v", s, got, msgs)
		}
		if len(s) <= maxReason && len(metav1validation.IsValidConditionReason(s)) == 0 && got != s {
			t.Errorf("%q is valid and became %q", s, got)
		}
	})
}

type backendEntry = csipb.NodeGetStorageHealthResponse_StorageBackendHealth

func mounts(mode csipb.VolumeCapability_AccessMode_Mode) *csipb.VolumeCapability {
	return &csipb.VolumeCapability{
		AccessType: &csipb.VolumeCapability_Mount{Mount: &csipb.VolumeCapability_MountVolume{}},
		AccessMode: &csipb.VolumeCapability_AccessMode{Mode: mode},
	}
}

func TestStorageConditions(t *testing.T) {
	const down = csipb.StorageHealthErrorType_STORAGE_UNREACHABLE
	block := &csipb.VolumeCapability{AccessType: &csipb.VolumeCapability_Block{}, AccessMode: &csipb.VolumeCapability_AccessMode{Mode: csipb.VolumeCapability_AccessMode_SINGLE_NODE_WRITER}}
	block.AccessType = &csipb.VolumeCapability_Block{Block: &csipb.VolumeCapability_BlockVolume{}}
	access, mode := v1.ReadWriteMany, v1.PersistentVolumeFilesystem
	once, device := v1.ReadWriteOnce, v1.PersistentVolumeBlock
	for _, c := range []struct {
		name string
		from []*backendEntry
		want []storagev1.StorageHealthCondition
		err  string
	}{
		{name: "healthy"},
		{
			name: "both statuses", from: []*backendEntry{{Status: down, Reason: "NoPath", Message: "m"}, nil, {Status: csipb.StorageHealthErrorType_STORAGE_DEGRADED, Reason: "Slow"}, {Reason: "X"}},
			want: []storagev1.StorageHealthCondition{{Status: storagev1.StorageUnreachable, Reason: "NoPath", Message: "m"}, {Status: storagev1.StorageDegraded, Reason: "Slow"}},
		},
		{name: "capabilities", from: []*backendEntry{
			{Status: down, Reason: "A", VolumeCapability: mounts(csipb.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER)},
			{Status: down, Reason: "A", VolumeCapability: block},
			{Status: down, Reason: "A", VolumeCapability: block},
		}, want: []storagev1.StorageHealthCondition{
			{Status: storagev1.StorageUnreachable, Reason: "A", AccessMode: &access, VolumeMode: &mode}, {Status: storagev1.StorageUnreachable, Reason: "A", AccessMode: &once, VolumeMode: &device},
		}},
		{
			name: "no access type", from: []*backendEntry{{Status: down, Reason: "A", VolumeCapability: &csipb.VolumeCapability{}}},
			err: "NodeGetStorageHealth condition 0 has invalid volume capability: access type is required",
		},
		{
			name: "no access mode", from: []*backendEntry{{Status: down, Reason: "A", VolumeCapability: &csipb.VolumeCapability{AccessType: block.AccessType}}},
			err: "NodeGetStorageHealth condition 0 has invalid volume capability: access mode is required",
		},
		{
			name: "unknown access mode", from: []*backendEntry{{Status: down, Reason: "A", VolumeCapability: mounts(77)}},
			err: `NodeGetStorageHealth condition 0 has invalid volume capability: unsupported access mode "77"`,
		},
		{name: "too many", from: make([]*backendEntry, maxConditions+1), err: "NodeGetStorageHealth returned 17 conditions, maximum is 16"},
	} {
		got, err := storageConditions(c.from)
		if diff := cmp.Diff(c.want, got); diff != "" || fmt.Sprint(err) != fmt.Sprint(c.err) && (err != nil || c.err != "") {
			t.Errorf("%s: error %v (-want +got):\n%s", c.name, err, diff)
		}
	}
}

func TestAffectedAccessModes(t *testing.T) {
	for mode, want := range map[csipb.VolumeCapability_AccessMode_Mode]v1.PersistentVolumeAccessMode{
		csipb.VolumeCapability_AccessMode_SINGLE_NODE_WRITER: v1.ReadWriteOnce, csipb.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY: v1.ReadWriteOnce,
		csipb.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER: v1.ReadWriteOnce, csipb.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER: v1.ReadWriteOncePod,
		csipb.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY: v1.ReadOnlyMany, csipb.VolumeCapability_AccessMode_MULTI_NODE_SINGLE_WRITER: v1.ReadWriteMany,
		csipb.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER: v1.ReadWriteMany, csipb.VolumeCapability_AccessMode_UNKNOWN: "",
	} {
		if got, _, err := affected(mounts(mode)); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v, want %q", mode, got, err, want)
		}
	}
}
