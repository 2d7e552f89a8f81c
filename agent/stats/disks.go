package stats

import (
	"bufio"
	"path/filepath"
	"strconv"
	"strings"
)

// The metrics of disk I/O, and of page faults.
const (
	bytesRead    = "container_fs_reads_bytes_total"
	bytesWritten = "container_fs_writes_bytes_total"
	reads        = "container_fs_reads_total"
	writes       = "container_fs_writes_total"
	pageFaults   = "pgfault"
	majorFaults  = "pgmajfault"
)

// maxDisks limits the devices of a cgroup: each is a label of four metrics.
const maxDisks = 256

// disk is a cgroup's I/O on a device, by metric. The device is major:minor, as 8:0.
type disk struct {
	device string
	values map[string]float64
}

// parseIOStat parses io.stat: 8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0.
func parseIOStat(text string) (out []disk) {
	metrics := map[string]string{"rbytes": bytesRead, "wbytes": bytesWritten, "rios": reads, "wios": writes}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 || !strings.Contains(f[0], ":") {
			continue
		}
		d := disk{device: f[0], values: map[string]float64{}}
		for _, field := range f[1:] {
			name, value, _ := strings.Cut(field, "=")
			if n, err := strconv.ParseUint(value, 10, 64); err == nil && metrics[name] != "" {
				d.values[metrics[name]] = float64(n)
			}
		}
		if len(d.values) == 0 {
			continue
		}
		if out = append(out, d); len(out) == maxDisks {
			break
		}
	}
	return out
}

// devices returns the names of block devices, as /dev/sda, by major:minor; one that is not there keeps its numbers.
func (s *Stats) devices() map[string]string {
	text, _ := text(filepath.Join(s.cfg.Proc, "diskstats"))
	out := map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		if f := strings.Fields(lines.Text()); len(f) > 3 {
			out[f[0]+":"+f[1]] = "/dev/" + f[2]
		}
	}
	return out
}
