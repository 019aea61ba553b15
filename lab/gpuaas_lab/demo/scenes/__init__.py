"""The demo's scenes, one file each: ground, rooms, publishing, cluster, jobs, farewell, looking back."""
