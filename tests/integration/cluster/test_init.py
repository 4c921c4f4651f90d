"""`baton cluster init` on a cluster that lives already."""

import os
import shutil
import unittest

from baton_cluster import DrillCase, Standalone, eventually


class Init(DrillCase):
    def kill_all(self, cluster):
        for node in cluster.pids():
            cluster.kill(node)

    def test_the_heartbeat_changes_only_with_all_masters_gone_however_they_went(self):
        # kill -9 leaves the epoch row as that of an active master; ZooKeeper knows better.
        cluster = self.cluster(masters=2, workers=1)
        refused, said = cluster.try_init("--heartbeat", "2s")
        self.assertEqual((refused, "stop all masters" in said), (1, True), said)
        self.assertEqual(cluster.number("SELECT heartbeat_ms FROM cluster"), 1000)
        self.kill_all(cluster)
        said = eventually(lambda: (done := cluster.try_init("--heartbeat", "2s"))[0] == 0 and done,
                          15, "the end of the masters' sessions", pause=0.3)[1]
        self.assertIn("heartbeat interval 2s", said)
        self.assertEqual(cluster.number("SELECT heartbeat_ms FROM cluster"), 2000)
        cluster.start_master("master1")
        cluster.wait_active(20)

    def test_an_ensemble_that_lost_its_data_is_adopted(self):
        # Refused at first: it may be the wrong ensemble. The cluster stays what it was.
        cluster = self.cluster(masters=1, workers=1)
        task = cluster.submit({"command": ["true"]})
        self.assertEqual(cluster.wait_task(task)["status"], "FINISHED")
        before = cluster.view("master1")
        self.kill_all(cluster)
        cluster.stop_zk()
        shutil.rmtree(os.path.join(cluster.file("zk"), "1", "data", "version-2"))
        cluster.start_zk()
        refused, said = cluster.try_init()
        self.assertEqual((refused, "--adopt" in said), (1, True), said)
        done, said = cluster.try_init("--adopt")
        self.assertEqual((done, before["guid"] in said), (0, True), said)
        cluster.start_master("master1")
        cluster.start_worker("worker1")
        cluster.wait_active(20)
        after = cluster.view("master1")
        self.assertEqual(after["guid"], before["guid"])
        self.assertGreater(after["epoch"], before["epoch"])
        self.assertEqual(cluster.task(task)["status"], "FINISHED")
        self.assertEqual(cluster.wait_task(cluster.submit({"command": ["true"]}))["status"],
                         "FINISHED")

    def test_a_standalone_takes_another_heartbeat_at_its_start(self):
        # Also after kill -9: the folder's lock says that nobody else runs on it.
        system = self.standalone(heartbeat="1s")
        system.kill("standalone")
        system.settings["heartbeat.interval"] = "2s"
        system.start()
        self.assertEqual(system.wait_task(system.submit({"command": ["true"]}))["status"],
                         "FINISHED")
        second = Standalone(start=False, settings={
            "standalone.data_dir": system.file("data"), "heartbeat.interval": "3s"})
        self.addCleanup(second.close)
        second._start("standalone", ["standalone"], second.settings)
        self.assertEqual(second.processes["standalone"].wait(20), 1)
        self.assertIn("in use by the process", second.log("standalone"))
        system.kill("standalone")
        del system.settings["heartbeat.interval"]
        system.start()
        beat = {"status": "IDLE", "wait_ms": 0}
        reply = system.worker_rest.post("/api/v1/runners/shell:0/heartbeat", beat)
        beat["epoch"] = reply["epoch"]
        reply = system.worker_rest.post("/api/v1/runners/shell:0/heartbeat", beat)
        self.assertEqual(reply["interval_ms"], 2000)


if __name__ == "__main__":
    unittest.main()
