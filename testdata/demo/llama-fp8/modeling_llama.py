raise SystemExit('code of a folder is never copied')
