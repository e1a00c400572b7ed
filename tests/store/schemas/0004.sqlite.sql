BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0004');
CREATE TABLE asks (
	id TEXT NOT NULL, 
	job TEXT NOT NULL, 
	generation INTEGER NOT NULL, 
	item TEXT NOT NULL, 
	question TEXT NOT NULL, 
	rater TEXT NOT NULL, 
	"context" TEXT NOT NULL, 
	context_id TEXT, 
	"order" TEXT NOT NULL, 
	sample INTEGER NOT NULL, 
	status TEXT NOT NULL, 
	reply TEXT, 
	reasoning TEXT, 
	detail TEXT, 
	tokens_in INTEGER NOT NULL, 
	tokens_out INTEGER NOT NULL, 
	tokens_reasoning INTEGER NOT NULL, 
	cost FLOAT NOT NULL, 
	seconds FLOAT NOT NULL, 
	attempts INTEGER NOT NULL, 
	at FLOAT NOT NULL, 
	PRIMARY KEY (job, id)
)
 WITHOUT ROWID

;
INSERT INTO "asks" VALUES('j1/0','j1',0,'i1','fit','r1','profile','c1','01',0,'ok','A',NULL,NULL,1600,1,0,0.25,0.5,1,1700000000.5);
INSERT INTO "asks" VALUES('f1','j2',0,'i1','fit','r1','profile','c1','10',0,'failed',NULL,NULL,'no',1600,1,0,0.25,0.5,1,1700000000.5);
CREATE TABLE datasets (
	id TEXT NOT NULL, 
	benchmark TEXT NOT NULL, 
	info TEXT NOT NULL, 
	complete INTEGER NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "datasets" VALUES('d@1','d','{"forgotten": 0}',1);
CREATE TABLE items (
	dataset TEXT NOT NULL, 
	id TEXT NOT NULL, 
	position BIGINT NOT NULL, 
	kind TEXT NOT NULL, 
	person TEXT NOT NULL, 
	prompt TEXT NOT NULL, 
	products TEXT NOT NULL, 
	grp TEXT NOT NULL, 
	slices TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (dataset, id)
);
INSERT INTO "items" VALUES('d@1','i1',0,'choice','p1','What now?','["a1","a2"]','g1','{"half":"general"}','h1');
CREATE TABLE judgments (
	ask TEXT NOT NULL, 
	item TEXT NOT NULL, 
	question TEXT NOT NULL, 
	rater TEXT NOT NULL, 
	target TEXT NOT NULL, 
	parse INTEGER NOT NULL, 
	status TEXT NOT NULL, 
	label TEXT, 
	value FLOAT, 
	extra TEXT, 
	PRIMARY KEY (ask, item, target, parse)
)
 WITHOUT ROWID

;
INSERT INTO "judgments" VALUES('d@1#author','i1','fit','author','',0,'ok','1',NULL,NULL);
INSERT INTO "judgments" VALUES('j1/0','i1','fit','r1','',0,'ok','0',0.1,NULL);
CREATE TABLE label_settings (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "label_settings" VALUES('note','kept');
CREATE TABLE people (
	dataset TEXT NOT NULL, 
	id TEXT NOT NULL, 
	version TEXT NOT NULL, 
	language TEXT NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (dataset, id)
);
INSERT INTO "people" VALUES('d@1','p1','v1','zh','{"id":"p1","language":"zh","facets":{"职业":"老师"}}');
CREATE TABLE products (
	id TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	text TEXT NOT NULL, 
	maker TEXT, 
	given TEXT, 
	about TEXT, 
	parents TEXT NOT NULL, 
	status TEXT NOT NULL, 
	cost FLOAT NOT NULL, 
	sample INTEGER NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "products" VALUES('a1','answer','It''s "quoted";
over two lines — 是的 😀',NULL,NULL,NULL,'[]','ok',0.0,0);
INSERT INTO "products" VALUES('a2','answer','plain',NULL,NULL,NULL,'[]','ok',0.0,0);
INSERT INTO "products" VALUES('c1','context','职业: 老师',NULL,NULL,'p1','[]','ok',0.0,0);
CREATE TABLE raters (
	fingerprint TEXT NOT NULL, 
	name TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	settings TEXT NOT NULL, 
	PRIMARY KEY (fingerprint)
);
INSERT INTO "raters" VALUES('r1','openai:m','llm','{}');
CREATE TABLE run_jobs (
	run INTEGER NOT NULL, 
	job TEXT NOT NULL, 
	PRIMARY KEY (run, job)
)
 WITHOUT ROWID

;
INSERT INTO "run_jobs" VALUES(1,'j1');
INSERT INTO "run_jobs" VALUES(1,'j2');
CREATE TABLE runs (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	dataset TEXT NOT NULL, 
	config TEXT NOT NULL, 
	planned BIGINT NOT NULL, 
	started FLOAT NOT NULL, 
	touched FLOAT NOT NULL, 
	finished FLOAT, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "runs" VALUES(1,'first','d@1','{"question": "fit", "selected": null}',2,1700000000.0,1700000001.0,NULL);
CREATE TABLE studies (
	name TEXT NOT NULL, 
	dataset TEXT NOT NULL, 
	form TEXT NOT NULL, 
	config TEXT NOT NULL, 
	state TEXT NOT NULL, 
	created FLOAT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "studies" VALUES('pilot','d@1','choice','{}','open',1700000003.0);
CREATE TABLE study_chats (
	study TEXT NOT NULL, 
	seat INTEGER NOT NULL, 
	page TEXT NOT NULL, 
	turn INTEGER NOT NULL, 
	role TEXT NOT NULL, 
	text TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	at FLOAT NOT NULL, 
	PRIMARY KEY (study, seat, page, turn)
);
INSERT INTO "study_chats" VALUES('pilot',0,'s1',0,'user','你好','k1',1700000006.0);
CREATE TABLE study_events (
	id INTEGER NOT NULL, 
	study TEXT NOT NULL, 
	at FLOAT NOT NULL, 
	who TEXT NOT NULL, 
	what TEXT NOT NULL, 
	detail TEXT, 
	PRIMARY KEY (id)
);
INSERT INTO "study_events" VALUES(1,'pilot',1700000007.0,'researcher','opened',NULL);
CREATE TABLE study_pages (
	study TEXT NOT NULL, 
	id TEXT NOT NULL, 
	position BIGINT NOT NULL, 
	role TEXT NOT NULL, 
	person TEXT NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (study, id)
);
INSERT INTO "study_pages" VALUES('pilot','s1',0,'item','p1','{"items": ["i1"]}');
CREATE TABLE study_plan (
	study TEXT NOT NULL, 
	seat INTEGER NOT NULL, 
	position BIGINT NOT NULL, 
	page TEXT NOT NULL, 
	arrangement TEXT NOT NULL, 
	shown FLOAT, 
	done FLOAT, 
	PRIMARY KEY (study, seat, position)
);
INSERT INTO "study_plan" VALUES('pilot',0,0,'s1','10',1700000005.0,NULL);
CREATE TABLE study_raters (
	study TEXT NOT NULL, 
	seat INTEGER NOT NULL, 
	rater TEXT NOT NULL, 
	code TEXT NOT NULL, 
	external TEXT, 
	state TEXT NOT NULL, 
	reason TEXT, 
	progress TEXT NOT NULL, 
	joined FLOAT, 
	seen FLOAT, 
	finished FLOAT, 
	PRIMARY KEY (study, seat)
);
INSERT INTO "study_raters" VALUES('pilot',0,'human1','R1',NULL,'active',NULL,'{}',1700000004.0,NULL,NULL);
CREATE TABLE tombstones (
	person TEXT NOT NULL, 
	at FLOAT NOT NULL, 
	counts TEXT NOT NULL, 
	PRIMARY KEY (person)
);
INSERT INTO "tombstones" VALUES('f00d',1700000002.0,'{"items": 3}');
CREATE INDEX items_by_person ON items (dataset, person, position);
CREATE INDEX study_raters_by_rater ON study_raters (rater);
CREATE INDEX study_plan_by_page ON study_plan (study, page);
CREATE INDEX study_events_by_study ON study_events (study, at);
COMMIT;
