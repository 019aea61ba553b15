"""Cluster, accounts and users in the accounting, before slurmctld looks there: in this order nobody is an invalid account.

{"cluster", "accounts": [name], "users": [{"name", "account"}], "projects": [name], "ours": prefix}

`projects` are accounts that every user may run under. One of `ours` that is not among them any more is closed: it takes no
new jobs, and those that it has go on to their end.
"""

import json
import subprocess
import sys


def sacctmgr(*arguments):
    done = subprocess.run(["sacctmgr", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"sacctmgr {arguments[-1]}: {(done.stderr or done.stdout).strip()[-240:]}")
    return done.stdout.splitlines()


def add(*words):
    sacctmgr("-i", "-Q", "add", *words)
    added.append(" ".join(words))


def limit(account, jobs):
    words = ("modify", "account", account, "where", f"cluster={cluster}", "set", f"grpsubmitjobs={jobs}")
    sacctmgr("-i", "-Q", *words)
    added.append(" ".join(words))


told = json.load(sys.stdin)
added = []
cluster = told["cluster"]
if cluster not in sacctmgr("-n", "-P", "show", "cluster", "format=cluster"):
    add("cluster", cluster)
shown = sacctmgr("-n", "-P", "show", "assoc", f"cluster={cluster}", "format=account,user,grpsubmit")
limits = {tuple(line.split("|")[:2]): line.split("|")[2] for line in shown}
known = [list(pair) for pair in limits]
for account in told["accounts"]:
    if [account, ""] not in known:
        add("account", account, f"cluster={cluster}")
for user in told["users"]:
    if [user["account"], user["name"]] not in known:
        add(
            "user",
            user["name"],
            f"account={user['account']}",
            f"defaultaccount={user['account']}",
            f"cluster={cluster}",
        )
for account in told["projects"]:
    if [account, ""] not in known:
        add("account", account, f"cluster={cluster}")
    elif limits[account, ""] == "0":
        limit(account, "-1")
    missing = [user["name"] for user in told["users"] if [account, user["name"]] not in known]
    if missing:
        add("user", ",".join(missing), f"account={account}", f"cluster={cluster}")
for (account, user), jobs in limits.items():
    ours = not user and account.startswith(told["ours"])
    if ours and account not in told["projects"] and jobs != "0":
        limit(account, "0")
json.dump({"added": added}, sys.stdout)
