package cause

import "github.com/kubeloupe/kubeloupe/trace"

func ioPressure() Rule {
	return Rule{
		ID: "KL25", Name: "IO pressure",
		About: "While the pod worked, tasks of the node stalled for block devices for 30 % of the time or more (PSI io some). The cost is that share of " +
			"the pod's work to its start, or to its end, an estimate; it is reported from 10 ms and 5 % of the critical path on. A pull that unpacks stalls itself, which is " +
			"pressure all the same. A kernel without PSI reports nothing.",
		Find: ioFigures().find,
	}
}

func ioFigures() pressure {
	return pressure{
		resource: "a disk", stall: stallFrom(trace.ResourceIO, 30),
		remedy:   "See what uses the disk (iostat -x 1; iotop); put images and logs on a faster disk or one of their own, limit pulls at once (maxParallelImagePulls), make images smaller.",
		disproof: "The same start takes as long while cat /proc/pressure/io shows avg10 near 0.",
	}
}
