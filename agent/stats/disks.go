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
	ioCurrent    = "container_fs_io_current"
	costUsage    = "container_fs_io_cost_usage_seconds_total"
	costWait     = "container_fs_io_cost_wait_seconds_total"
	costInDebt   = "container_fs_io_cost_indebt_seconds_total"
	costInDelay  = "container_fs_io_cost_indelay_seconds_total"
	pageFaults   = "pgfault"
	majorFaults  = "pgmajfault"
)

// maxDisks limits the devices of a cgroup: each is a label of up to eight metrics.
const maxDisks = 256

// disk is a cgroup's I/O on a device, by metric. The device is major:minor, as 8:0.
type disk struct {
	device string
	values map[string]float64
}

// parseIOStat parses io.stat: 8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0, and if blk-iocost controls the device, cost.usage=5 and
// others, in microseconds.
func parseIOStat(text string) (out []disk) {
	metrics := map[string]string{
		"rbytes": bytesRead, "wbytes": bytesWritten, "rios": reads, "wios": writes,
		"cost.usage": costUsage, "cost.wait": costWait, "cost.indebt": costInDebt, "cost.indelay": costInDelay,
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 || !strings.Contains(f[0], ":") {
			continue
		}
		d := disk{device: f[0], values: map[string]float64{}}
		for _, field := range f[1:] {
			name, value, _ := strings.Cut(field, "=")
			if n, err := strconv.ParseUint(value, 10, 64); err == nil && metrics[name] != "" {
				unit := 1.0
				if strings.HasPrefix(name, "cost.") {
					unit = 1e-6
				}
				d.values[metrics[name]] = float64(n) * unit
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

// sector is the unit of /proc/diskstats, in bytes.
const sector = 512

// nodeDisks returns the I/O of the machine's block devices, without those that were never used.
//
// Upstream: github.com/google/cadvisor/lib/fs/fs.go, getDiskStatsMap; the kernel's Documentation/admin-guide/iostats.rst.
func (s *Stats) nodeDisks() (out []disk) {
	text, _ := text(filepath.Join(s.cfg.Proc, "diskstats"))
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 14 || len(out) == maxDisks {
			continue
		}
		d, used := disk{device: f[0] + ":" + f[1], values: map[string]float64{}}, false
		for i, to := range []struct {
			name string
			unit float64
		}{
			{reads, 1},
			{"container_fs_reads_merged_total", 1},
			{"container_fs_sector_reads_total", 1},
			{"container_fs_read_seconds_total", 1e-3},
			{writes, 1},
			{"container_fs_writes_merged_total", 1},
			{"container_fs_sector_writes_total", 1},
			{"container_fs_write_seconds_total", 1e-3},
			{ioCurrent, 1},
			{"container_fs_io_time_seconds_total", 1e-3},
			{"container_fs_io_time_weighted_seconds_total", 1e-3},
		} {
			n, err := strconv.ParseUint(f[3+i], 10, 64)
			if err != nil {
				continue
			}
			d.values[to.name] = float64(n) * to.unit
			used = used || n > 0
		}
		if !used {
			continue
		}
		d.values[bytesRead] = d.values["container_fs_sector_reads_total"] * sector
		d.values[bytesWritten] = d.values["container_fs_sector_writes_total"] * sector
		out = append(out, d)
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
