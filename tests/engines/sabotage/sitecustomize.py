"""Read by every Python that has this folder on its path: makes a real participant misbehave.

FEDHULL_SABOTAGE is WHAT@STEP. At a site: `kill` (SIGKILL to it and its parents up to the process
named in FEDHULL_SABOTAGE_PIDFILE), `hang`, `secret` (an exception with a secret in it). At the
server: `kill`, `scenarios` (run the conformance scenarios in place of the study), `spy` (ask each
site's FLARE client for the file named in place of a step, with FLARE's own means but no word of a
permission, and put what it says beside that file).
"""

import os
import sys

WHAT, _, STEP = os.environ.get("FEDHULL_SABOTAGE", "").partition("@")


def _kill_family():
    import signal

    import psutil

    this = psutil.Process()
    family = [this, *this.parents()]
    ours = [p for p in family if any("fedhull" in part for part in p.cmdline())]
    for process in reversed(ours):
        process.send_signal(signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def _at_site(answer):
    def sabotaged(self, step, message):
        if step == STEP and WHAT == "kill":
            _kill_family()
        if step == STEP and WHAT == "hang":
            import threading

            threading.Event().wait()
        return answer(self, step, message)

    return sabotaged


def _in_site(receive):
    def sabotaged(self, raw):
        if WHAT == "secret" and self.session.state == STEP:
            raise RuntimeError(f"patient {os.environ['FEDHULL_SABOTAGE_SECRET']} in {os.getcwd()}")
        return receive(self, raw)

    return sabotaged


def _at_server(step_of_engine):
    def sabotaged(self, kind, messages, timeout):
        if kind == STEP and WHAT == "kill":
            _kill_family()
        return step_of_engine(self, kind, messages, timeout)

    return sabotaged


def _spying(send):
    def sabotaged(self, requests, timeout_secs=2.0):
        from pathlib import Path

        from nvflare.private.admin_defs import Message

        asked = {token: Message(topic="sys.shell", body=f"cat {STEP}") for token in requests}
        told = [reply.body for reply in send(self, asked, timeout_secs=20.0).values() if reply]
        Path(f"{STEP}.told").write_text("\n".join(map(str, told)))
        return send(self, requests, timeout_secs)

    return sabotaged


if WHAT == "spy" and "server" in sys.orig_argv and any(n.endswith("launch") for n in sys.orig_argv):
    from nvflare.private.fed.server.admin import FedAdminServer as Admin

    Admin.send_requests_and_get_reply_dict = _spying(Admin.send_requests_and_get_reply_dict)

# FLARE's job processes only: nothing else talks in a study
if WHAT and any(name.endswith(("worker_process", "runner_process")) for name in sys.orig_argv):
    from fedhull.engines.nvflare.controller import FlareEngine, StudyController
    from fedhull.kits.participant import SiteRun
    from fedhull.rounds.site import Site

    SiteRun.answer = _at_site(SiteRun.answer)
    Site.receive = _in_site(Site.receive)
    if any(name.endswith("runner_process") for name in sys.orig_argv):
        FlareEngine.step = _at_server(FlareEngine.step)
        if WHAT == "scenarios":
            import conformance

            StudyController.conduct = conformance.conduct_on_flare
