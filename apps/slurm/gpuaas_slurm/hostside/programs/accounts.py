"""Adds cluster, accounts and users to the accounting. It runs before slurmctld starts, so that no account is ever invalid.

{"cluster", "accounts": [name], "users": [{"name", "account"}], "projects": [name], "ours": prefix}

Every user may run jobs under the accounts of `projects`. An account with the prefix `ours` that is no longer in `projects` is
closed: it accepts no new jobs, and its running jobs continue.
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


request = json.load(sys.stdin)
added = []
cluster = request["cluster"]
if cluster not in sacctmgr("-n", "-P", "show", "cluster", "format=cluster"):
    add("cluster", cluster)
shown = sacctmgr("-n", "-P", "show", "assoc", f"cluster={cluster}", "format=account,user,grpsubmit")
limits = {tuple(line.split("|")[:2]): line.split("|")[2] for line in shown}
known = [list(pair) for pair in limits]
for account in request["accounts"]:
    if [account, ""] not in known:
        add("account", account, f"cluster={cluster}")
for user in request["users"]:
    if [user["account"], user["name"]] not in known:
        add(
            "user",
            user["name"],
            f"account={user['account']}",
            f"defaultaccount={user['account']}",
            f"cluster={cluster}",
        )
for account in request["projects"]:
    if [account, ""] not in known:
        add("account", account, f"cluster={cluster}")
    elif limits[account, ""] == "0":
        limit(account, "-1")
    missing = [user["name"] for user in request["users"] if [account, user["name"]] not in known]
    if missing:
        add("user", ",".join(missing), f"account={account}", f"cluster={cluster}")
for (account, user), jobs in limits.items():
    ours = not user and account.startswith(request["ours"])
    if ours and account not in request["projects"] and jobs != "0":
        limit(account, "0")
json.dump({"added": added}, sys.stdout)
