"""Runs the tests of a directory: run.py DIRECTORY [PATTERN]. The last line is "N passed, M failed"; a skipped test has failed."""

import sys
import unittest


class Result(unittest.TextTestResult):
    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def main():
    suite = unittest.defaultTestLoader.discover(sys.argv[1], pattern=(sys.argv[2:] or ["test_*.py"])[0])
    runner = unittest.TextTestRunner(stream=sys.stdout, resultclass=Result, verbosity=1, warnings="default")
    result = runner.run(suite)
    names = {id(test): test for test, _ in result.failures + result.errors + result.skipped}
    failed = len(names) + len(result.unexpectedSuccesses)
    for test, why in result.skipped:
        print(f"FAIL {test.id()}: skipped: {why}")
    print(f"{result.passed} passed, {failed} failed")
    return failed > 0 or result.passed == 0


sys.exit(main())
