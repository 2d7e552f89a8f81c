package kubeletlog

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// inText are messages that hold names: [Fold.text] and what it calls know them by their beginning, or keep them as lines on purpose.
var inText = []struct {
	begins string
	mapped bool
}{
	{"operationExecutor.MountVolume started", true},
	{"operationExecutor.VerifyControllerAttachedVolume started", true},
	{"Controller attach succeeded", true},
	{"operationExecutor.UnmountVolume started", true},
	{"UnmountVolume.TearDown succeeded", true},
	{"MountVolume.SetUp succeeded", true},
	{"Setting volume ownership for", true},
	{"Operation for ", true},
	{"%v", true},                                      // an operation's failure
	{"Starting operationExecutor.MountVolume", false}, // "started" follows at once
	{"MountVolume.WaitForAttach", true},
	{"MapVolume.WaitForAttach", true},
	{"MountVolume.MountDevice", true},
	{"MapVolume.MapPodDevice succeeded", true},
	{"UnmapVolume succeeded", true},
	{"operationExecutor.UnmountDevice", false},    // of no pod
	{"UnmountDevice succeeded", false},            // of no pod
	{"Volume detached", false},                    // of no pod
	{"Received configMap", false},                 // names neither the pod nor the volume
	{"Received secret", false},                    // names neither the pod nor the volume
	{"Setting up volume", false},                  // within the mount
	{"kubernetes.io/csi: Mounter.SetUpAt", false}, // within the mount
	{"[RemoteRuntimeService]", false},             // V10 prints whole requests, environments too
}

// TestLines walks the project's list of what a kubelet may write: each message is mapped, or kept as a line on purpose, and none is both.
func TestLines(t *testing.T) {
	f, err := os.Open(filepath.Join("testdata", "lines.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	number := regexp.MustCompile(`\d+`)
	lines, mapped, held := bufio.NewScanner(f), 0, 0
	for lines.Scan() {
		col := strings.Split(lines.Text(), "\t")
		if col[0] == "message" {
			continue
		}
		rule, inTable := table[col[0]]
		v, isKept := kept[col[0]]
		i := slices.IndexFunc(inText, func(x struct {
			begins string
			mapped bool
		},
		) bool {
			return strings.HasPrefix(col[0], x.begins)
		})
		switch {
		case inTable && isKept:
			t.Errorf("%q is both mapped and kept", col[0])
		case inTable:
			mapped++
			v = rule.v
		case isKept:
			held++
		case i < 0:
			t.Errorf("%q (V%s) is neither mapped nor kept on purpose", col[0], col[1])
			continue
		case inText[i].mapped:
			mapped++
			continue
		default:
			held++
			continue
		}
		least := 10
		for _, n := range number.FindAllString(col[1], -1) {
			if x, err := strconv.Atoi(n); err == nil {
				least = min(least, x)
			}
		}
		if v > least {
			t.Errorf("%q counts as V%d, and is written from V%d on", col[0], v, least)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if mapped < 90 || held < 90 {
		t.Errorf("%d messages are mapped, %d kept", mapped, held)
	}
	t.Logf("%d messages are mapped, %d kept as lines", mapped, held)
}
