package quota

// Usage returns what is in a directory. It returns false if the directory has no project of its own, or if that cannot be read.
func (p *Projects) Usage(dir string) (Usage, bool) {
	d, err := p.kernel.open(dir)
	if err != nil {
		return Usage{}, false
	}
	defer d.close()
	if ok, err := p.own(d, dir); err != nil || !ok {
		return Usage{}, false
	}
	if ok, err := d.accounts(); err != nil || !ok { // quotas may have been switched off since
		return Usage{}, false
	}
	id, _, err := d.project()
	if err != nil {
		return Usage{}, false
	}
	used, _, err := d.quota(id)
	// The directory itself is counted, so nothing means that the kernel did not count when it was made.
	return used, err == nil && used.Inodes > 0
}
