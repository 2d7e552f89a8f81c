package oom

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	uid  = "3b5c9f52-7f0a-4e2f-9c1d-0a1b2c3d4e5f"
	cid  = "5f1c0a7d9be24f6a8c3e1d2b4a6f80917263544536271809fedcba9876543210"
	tier = "/kubepods/burstable/pod" + uid
	unit = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod3b5c9f52_7f0a_4e2f_9c1d_0a1b2c3d4e5f.slice"
)

// conditions are lines of kernel logs; a line beginning with + is that many seconds later, one that is EPIPE is a gap.
var conditions = []struct {
	name  string
	lines string
	want  []trace.OOMKill
}{
	{
		name: "Linux 6.18, cgroup v1, as seen on a machine", lines: `
tail invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
CPU: 1 UID: 0 PID: 28966 Comm: tail Not tainted 6.18.44-fc-v669 #1 PREEMPT(none) 
Call Trace:
 oom_kill_process.cold+0x8/0x8a
memory: usage 20480kB, limit 20480kB, failcnt 30
Memory cgroup stats for /h-oom:
Tasks state (memory values in pages):
[  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name
[  28966]     0 28966     5717     5382     4992      390         0    90112        0             0 tail
oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/h-oom,task_memcg=/h-oom/sub,task=tail,pid=28966,uid=0
Memory cgroup out of memory: Killed process 28966 (tail) total-vm:22868kB, anon-rss:19968kB, file-rss:1560kB, shmem-rss:0kB, UID:0 pgtables:88kB oom_score_adj:0`,
		want: []trace.OOMKill{{Cgroup: "/h-oom/sub", Limited: "/h-oom", Constraint: trace.OOMMemcg, Process: "tail", PID: 28966, RSS: 19968 << 10}},
	},
	{
		name: "systemd, cgroup v2, other lines between", lines: `
java invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=968
br0: port 7(veth8d0f5307) entered disabled state
oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=0-1,3,cpuset=cri-containerd-` + cid + `.scope,mems_allowed=0-1,3,oom_memcg=` + unit + `,task_memcg=` + unit + `/cri-containerd-` + cid + `.scope,task=java,pid=4711,uid=1000
veth8d0f5307 (unregistering): left promiscuous mode
Memory cgroup out of memory: Killed process 4711 (java) total-vm:4096000kB, anon-rss:262144kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:700kB oom_score_adj:968
oom_reaper: reaped process 4711 (java), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB`,
		want: []trace.OOMKill{{
			Cgroup: unit + "/cri-containerd-" + cid + ".scope", Limited: unit, Constraint: trace.OOMMemcg, Process: "java", PID: 4711, RSS: 256 << 20,
		}},
	},
	{
		name: "the node, a process of the host", lines: `
kthreadd invoked oom-killer: gfp_mask=0x2dc2(GFP_KERNEL), order=0, oom_score_adj=0
oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/system.slice/db.service,task=mysqld,pid=812,uid=27
Out of memory: Killed process 812 (mysqld) total-vm:90000kB, anon-rss:80000kB, file-rss:0kB, shmem-rss:0kB, UID:27 pgtables:88kB oom_score_adj:0`,
		want: []trace.OOMKill{{Cgroup: "/system.slice/db.service", Limited: "/", Constraint: trace.OOMSystem, Process: "mysqld", PID: 812, RSS: 80000 << 10}},
	},
	{
		name: "a memory policy", lines: `
numa invoked oom-killer: gfp_mask=0x2dc2(GFP_KERNEL), order=0, oom_score_adj=0
oom-kill:constraint=CONSTRAINT_MEMORY_POLICY,nodemask=1,cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/system.slice/numa.service,task=numa,pid=813,uid=0
Out of memory: Killed process 813 (numa) total-vm:9000kB, anon-rss:8000kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:88kB oom_score_adj:0`,
		want: []trace.OOMKill{{Cgroup: "/system.slice/numa.service", Limited: "/", Constraint: trace.OOMPolicy, Process: "numa", PID: 813, RSS: 8000 << 10}},
	},
	{
		name: "a cpuset", lines: `
a invoked oom-killer: x
oom-kill:constraint=CONSTRAINT_CPUSET,nodemask=1,cpuset=x,mems_allowed=1,global_oom,task_memcg=/x,task=a,pid=5,uid=0
Out of memory: Killed process 5 (a) total-vm:9kB, anon-rss:8kB`,
		want: []trace.OOMKill{{Cgroup: "/x", Limited: "/", Constraint: trace.OOMCpuset, Process: "a", PID: 5, RSS: 8 << 10}},
	},
	{
		name: "Linux 4.15, a cgroup", lines: `
prog invoked oom-killer: gfp_mask=0x14000c0(GFP_KERNEL), nodemask=(null), order=0, oom_score_adj=936
Task in ` + tier + `/` + cid + ` killed as a result of limit of ` + tier + `
memory: usage 20480kB, limit 20480kB, failcnt 30
Memory cgroup out of memory: Kill process 700 (prog) score 1936 or sacrifice child
Killed process 701 (child) total-vm:22868kB, anon-rss:19968kB, file-rss:1560kB, shmem-rss:0kB`,
		want: []trace.OOMKill{{Cgroup: tier + "/" + cid, Limited: tier, Constraint: trace.OOMMemcg, Process: "child", PID: 701, RSS: 19968 << 10}},
	},
	{
		name: "Linux 4.15, the node", lines: `
prog invoked oom-killer: gfp_mask=0x14000c0(GFP_KERNEL), nodemask=(null), order=0, oom_score_adj=936
Out of memory: Kill process 700 (prog) score 900 or sacrifice child
Killed process 700 (prog) total-vm:22868kB, anon-rss:19968kB, file-rss:1560kB, shmem-rss:0kB`,
		want: []trace.OOMKill{{Limited: "/", Constraint: trace.OOMSystem, Process: "prog", PID: 700, RSS: 19968 << 10}},
	},
	{
		name: "Linux 4.19, without a header", lines: `
Memory cgroup out of memory: Kill process 700 (prog) score 1936 or sacrifice child
Killed process 700 (prog), UID 0, total-vm:22868kB, anon-rss:4kB, file-rss:0kB`,
		want: []trace.OOMKill{{Constraint: trace.OOMMemcg, Process: "prog", PID: 700, RSS: 4 << 10}},
	},
	{
		name: "kills without a header, as there were many", lines: `
Memory cgroup out of memory: Killed process 8 (a) total-vm:9kB, anon-rss:8kB
Out of memory: Killed process 9 (b) total-vm:9kB, anon-rss:8kB`,
		want: []trace.OOMKill{{Constraint: trace.OOMMemcg, Process: "a", PID: 8, RSS: 8 << 10}, {Limited: "/", Constraint: trace.OOMSystem, Process: "b", PID: 9, RSS: 8 << 10}},
	},
	{
		name: "memory.oom.group: all of a container", lines: `
a invoked oom-killer: x
oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/k/c,task_memcg=/k/c/sub,task=a,pid=8,uid=0
Memory cgroup out of memory: Killed process 8 (a) total-vm:9kB, anon-rss:8kB
Tasks in /k/c are going to be killed due to memory.oom.group set
Memory cgroup out of memory: Killed process 8 (a) total-vm:9kB, anon-rss:8kB
Memory cgroup out of memory: Killed process 9 (b) total-vm:9kB, anon-rss:4kB
+6
Memory cgroup out of memory: Killed process 10 (other) total-vm:9kB, anon-rss:4kB`,
		want: []trace.OOMKill{
			{Cgroup: "/k/c/sub", Limited: "/k/c", Constraint: trace.OOMMemcg, Process: "a", PID: 8, RSS: 8 << 10},
			{Cgroup: "/k/c", Limited: "/k/c", Constraint: trace.OOMMemcg, Process: "b", PID: 9, RSS: 4 << 10},
			{Constraint: trace.OOMMemcg, Process: "other", PID: 10, RSS: 4 << 10},
		},
	},
	{
		name: "another thread has the memory", lines: `
oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/k,task_memcg=/k/c,task=main,pid=8,uid=0
Memory cgroup out of memory: Killed process 12 (pool-1) total-vm:9kB, anon-rss:8kB`,
		want: []trace.OOMKill{{Cgroup: "/k/c", Limited: "/k", Constraint: trace.OOMMemcg, Process: "pool-1", PID: 12, RSS: 8 << 10}},
	},
	{
		name: "the victim exits by itself", lines: `
a invoked oom-killer: x
oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/k,task_memcg=/k/c,task=a,pid=8,uid=0
Memory cgroup out of memory: OOM victim 8 (a) is already exiting. Skip killing the task
b invoked oom-killer: x`,
	},
	{
		name: "records are lost after the victim was named", lines: `
oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/k,task_memcg=/k/c,task=a,pid=8,uid=0
EPIPE
Out of memory: Killed process 9 (b) total-vm:9kB, anon-rss:8kB`,
		want: []trace.OOMKill{
			{Cgroup: "/k/c", Limited: "/k", Constraint: trace.OOMMemcg, Process: "a", PID: 8}, {Limited: "/", Constraint: trace.OOMSystem, Process: "b", PID: 9, RSS: 8 << 10},
		},
	},
	{
		name: "a named victim, and a kill of another condition", lines: `
oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/k,task_memcg=/k/c,task=a,pid=8,uid=0
Out of memory: Killed process 9 (b) total-vm:9kB, anon-rss:8kB`,
		want: []trace.OOMKill{
			{Cgroup: "/k/c", Limited: "/k", Constraint: trace.OOMMemcg, Process: "a", PID: 8}, {Limited: "/", Constraint: trace.OOMSystem, Process: "b", PID: 9, RSS: 8 << 10},
		},
	},
	{
		name: "a named victim, and nothing for long", lines: `
oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/k,task_memcg=/k/c,task=a,pid=8,uid=0
+6
br0: port 7(veth8d0f5307) entered disabled state`,
		want: []trace.OOMKill{{Cgroup: "/k/c", Limited: "/k", Constraint: trace.OOMMemcg, Process: "a", PID: 8}},
	},
	{
		name: "names with the log's own words", lines: `
x,task=,pid=7,u invoked oom-killer: x
oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/k,task_memcg=/k/c,task=x,task=,pid=7,u,pid=8,uid=0
Memory cgroup out of memory: Killed process 8 (x) total-vm:1kB) total-vm:9kB, anon-rss:8kB`,
		want: []trace.OOMKill{{Cgroup: "/k/c", Limited: "/k", Constraint: trace.OOMMemcg, Process: "x) total-vm:1kB", PID: 8, RSS: 8 << 10}},
	},
	{
		name: "a name with a new line stays escaped, a cgroup's does not", lines: `
oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a\x5cx2db.slice,task_memcg=/a\x5cx2db.slice/\xff\xq,task=a\x0ab,pid=8,uid=0
Memory cgroup out of memory: Killed process 8 (a\x0ab) total-vm:9kB, anon-rss:8kB`,
		want: []trace.OOMKill{{Cgroup: `/a\x2db.slice/` + "\uFFFD" + `\xq`, Limited: `/a\x2db.slice`, Constraint: trace.OOMMemcg, Process: `a\x0ab`, PID: 8, RSS: 8 << 10}},
	},
	{
		name: "other words of other programs", lines: `
oom_reaper: reaped process 4711 (java), now anon-rss:0kB
systemd: Killed process 5 (x) total-vm:9kB, anon-rss:8kB
Killed process 5 (x) total-vm:9kB, anon-rss:8kB
Out of memory: Killed process -5 (x) total-vm:9kB
Out of memory: Killed process 5 x
oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null)
oom-kill:constraint=CONSTRAINT_MEMCG,task=a,pid=0,uid=0
Task in /a is fine
Tasks in /a are going to be fine`,
	},
}

// folded are the kills in some lines.
func folded(lines string) (got []trace.OOMKill) {
	var f fold
	var at time.Duration
	for line := range strings.SplitSeq(lines, "\n") {
		at += 16 * time.Microsecond
		switch {
		case line == "EPIPE":
			got = append(got, f.lost()...)
		case len(line) == 2 && line[0] == '+':
			at += time.Duration(line[1]-'0') * time.Second
		default:
			got = append(got, f.take(message{at: at, text: []byte(line)})...)
		}
	}
	return got
}

func TestFold(t *testing.T) {
	for _, c := range conditions {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, folded(c.lines)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
