package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// scenario is a resource that pods use up.
type scenario struct {
	name string
	// loop says that the agent's directory is on a file system of its own, of 256 MiB and 4,096 inodes.
	loop bool
	// config changes the agent's configuration.
	config func(map[string]any) error
	// pods first use a part of the resource. When an agent has had time to measure that, some push the node below its threshold.
	pods []subject
	// gone is how many are evicted.
	gone int
}

// subject is a pod.
type subject struct {
	name      string
	use, push string            // programs of the shell
	priority  string            // a class; "" for none
	limits    map[string]string // of the container
	sizeLimit string            // of its volume
	memory    bool              // its volume is in memory
	requests  map[string]string
}

// off turns all thresholds off; scenarios set one.
func off(c map[string]any, key, value string) {
	hard := map[string]any{"memory.available": "0%", "nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%", "imagefs.inodesFree": "0%"}
	if key != "" {
		hard[key] = value
	}
	c["evictionHard"], c["imageGCHighThresholdPercent"] = hard, 100
	c["evictionPressureTransitionPeriod"] = "10s"
}

func hard(key, value string) func(map[string]any) error {
	return func(c map[string]any) error { off(c, key, value); return nil }
}

func scenarios() []scenario {
	fill := func(n int) string {
		return fmt.Sprintf("dd if=/dev/zero of=/data/fill$1 bs=1M count=%d 2>/dev/null", n)
	}
	files := func(n int) string {
		return fmt.Sprintf("i=0; while [ $i -lt %d ]; do : > /data/$1$i; i=$((i+1)); done", n)
	}
	forks := func(n int) string { return fmt.Sprintf("i=0; while [ $i -lt %d ]; do sleep 600 & i=$((i+1)); done", n) }
	storage := map[string]string{"ephemeral-storage": "10Mi"}
	return []scenario{
		{name: "disk", loop: true, config: hard("nodefs.available", "80Mi"), gone: 2, pods: []subject{
			{name: "small", use: fill(20)},
			{name: "big", use: fill(50)},
			{name: "low", use: fill(10), priority: "evict-low"},
			{name: "important", use: fill(60), push: fill(45), priority: "evict-high"},
		}},
		{name: "inodes", loop: true, config: hard("nodefs.inodesFree", "40%"), gone: 1, pods: []subject{
			{name: "few", use: files(100), push: files(1000)}, {name: "many", use: files(1300)}, {name: "some", use: files(300)},
		}},
		{name: "memory", config: memoryOfPods, gone: 1, pods: []subject{
			{name: "requested", use: fill(1000), push: fill(900), memory: true, requests: map[string]string{"memory": "2Gi"}},
			{name: "over", use: fill(1300), memory: true},
			{name: "small", use: fill(50), memory: true},
		}},
		{name: "pids", config: pidsBelow(1800), gone: 1, pods: []subject{
			{name: "few", use: forks(20)}, {name: "many", use: forks(500)}, {name: "important", use: forks(100), push: forks(1500), priority: "evict-high"},
		}},
		{name: "limits", config: hard("", ""), gone: 3, pods: []subject{
			{name: "volume", push: fill(30), sizeLimit: "10Mi"},
			{name: "within", push: fill(5), sizeLimit: "10Mi", limits: storage},
			{name: "pod", push: fill(30), limits: storage},
			{name: "layer", push: "dd if=/dev/zero of=/fill bs=1M count=30 2>/dev/null", limits: storage},
		}},
	}
}

// memoryOfPods gives all pods 4 GiB, of which 1 GiB is the threshold: what else the machine does makes no difference.
func memoryOfPods(c map[string]any) error {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return err
	}
	kib := int64(0)
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "MemTotal:" {
			kib, err = strconv.ParseInt(f[1], 10, 64)
		}
	}
	off(c, "memory.available", "1Gi")
	c["kubeReserved"] = map[string]any{"memory": fmt.Sprint(kib<<10 - 4<<30)}
	c["enforceNodeAllocatable"] = []string{"pods"}
	return err
}

// pidsBelow sets the threshold of process ids to some less than there are now.
func pidsBelow(n int64) func(map[string]any) error {
	return func(c map[string]any) error {
		most, err := number("/proc/sys/kernel/pid_max")
		threads, err2 := number("/proc/sys/kernel/threads-max")
		text, err3 := os.ReadFile("/proc/loadavg")
		if err != nil || err2 != nil || err3 != nil {
			return fmt.Errorf("what process ids there are: %w, %w, %w", err, err2, err3)
		}
		_, all, _ := strings.Cut(strings.Fields(string(text))[3], "/")
		now, err := strconv.ParseInt(all, 10, 64)
		off(c, "pid.available", fmt.Sprint(min(most, threads)-now-n))
		return err
	}
}

func number(file string) (int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}
